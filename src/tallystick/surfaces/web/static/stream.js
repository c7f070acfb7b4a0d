// Server-Sent Events over fetch: unlike EventSource it hears events of every kind, and says where it stopped.

const SILENT_MS = 40000; // The hub says something every 15 s, so a longer silence is a dead connection.
const RETRY_MS = [250, 500, 1000, 2000, 4000];

/** Follow a stream for as long as the page is looked at; after a break it goes on where it stopped. */
export function listen(address, { since, event, open, lost }) {
  let stop = null;
  let failures = 0;

  async function run(signal) {
    const headers = { Accept: "text/event-stream" };
    const from = since();
    if (from !== null) headers["Last-Event-ID"] = String(from);
    const reply = await fetch(address, { headers, signal, cache: "no-store" });
    if (reply.status === 401) location.reload();
    if (!reply.ok) throw new Error(`the stream answered ${reply.status}`);
    failures = 0;
    open();
    await read(reply.body.getReader(), event, signal);
  }

  async function begin() {
    if (stop) return;
    const mine = new AbortController();
    stop = mine;
    try {
      await run(mine.signal);
    } catch {
      // Whatever ended it, the way on is the same.
    }
    if (stop === mine) stop = null;
    if (mine.signal.aborted && mine.signal.reason === "hidden") return;
    lost();
    setTimeout(begin, RETRY_MS[Math.min(failures++, RETRY_MS.length - 1)]);
  }

  function rest() {
    stop?.abort("hidden");
    stop = null;
  }

  // A browser opens few connections to one address: tabs that nobody sees give theirs back.
  document.addEventListener("visibilitychange", () => (document.hidden ? rest() : begin()));
  addEventListener("online", begin);
  addEventListener("pagehide", rest);
  addEventListener("pageshow", (shown) => shown.persisted && begin());
  if (!document.hidden) begin();
}

async function read(reader, event, signal) {
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    const { done, value } = await within(reader.read(), signal);
    if (done) return;
    text += decoder.decode(value, { stream: true });
    const frames = text.split("\n\n");
    text = frames.pop();
    for (const frame of frames) heard(frame, event);
  }
}

function heard(frame, event) {
  let id = 0;
  let name = "";
  for (const line of frame.split("\n")) {
    if (line.startsWith("id: ")) id = Number(line.slice(4));
    if (line.startsWith("event: ")) name = line.slice(7);
  }
  if (name && name !== "bye" && name !== "error") event(id, name);
}

function within(promise, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error("silent")), SILENT_MS);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
