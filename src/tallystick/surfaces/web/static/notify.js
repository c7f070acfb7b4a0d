// What waits in all rooms, on whatever view one is: as a count beside the overview and in the tab's title, and on the
// desktop, where that is allowed, when something new comes while nobody looks at the page.

const known = new Map();
const mark = () => document.getElementById("waiting");

/** What this view shows as waiting. The first look tells nothing: it was there before. */
export function notify() {
  count(document);
  if (tell("shown", document)) elsewhere();
}

/** The same for all rooms, asked now and then: what goes on elsewhere does not show here by itself. */
export async function elsewhere() {
  if (!mark() || document.querySelector("[data-waiting]")) return;
  const reply = await fetch("/waiting", { headers: { "Tally-Part": "main" }, cache: "no-store" }).catch(() => null);
  if (!reply?.ok) return;
  const inbox = new DOMParser().parseFromString(await reply.text(), "text/html");
  count(inbox);
  tell("everywhere", inbox);
}

function count(page) {
  const list = page.querySelector("[data-waiting]");
  if (list && mark()) {
    mark().hidden = list.dataset.waiting === "0";
    mark().textContent = mark().dataset.count = list.dataset.waiting;
  }
  entitle();
}

/** A view that has nothing waiting of its own says in its title that other rooms have. */
function entitle() {
  const waiting = Number(mark()?.dataset.count ?? 0);
  const title = document.title.replace(/^\(\d+ elsewhere\) /, "");
  const told = waiting && !/^\(\d+\) /.test(title) ? `(${waiting} elsewhere) ${title}` : title;
  if (told !== document.title) document.title = told;
}

/** Whether what waits there has changed. */
function tell(where, page) {
  const waiting = [...page.querySelectorAll("[data-need]")];
  const before = known.get(where);
  const fresh = before ? waiting.filter(({ id }) => ![...known.values()].some((ids) => ids.has(id))) : [];
  known.set(where, new Set(waiting.map(({ id }) => id)));
  if (fresh.length && document.hidden && "Notification" in window && Notification.permission === "granted") call(fresh[0]);
  return before && (fresh.length > 0 || before.size !== waiting.length);
}

function call(item) {
  const why = item.querySelector(".why");
  const body = (why.innerText || why.textContent).replace(/\s+/g, " ").trim().slice(0, 200);
  const note = new Notification("Tallystick needs you", { body, tag: item.id });
  note.onclick = () => {
    window.focus();
    const here = document.getElementById(item.id);
    if (here) here.focus();
    else location.assign(item.querySelector("a.open").getAttribute("href"));
  };
}
