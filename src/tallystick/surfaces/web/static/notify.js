// Says on the desktop, where that is allowed, when something new waits for the person and nobody looks at the page.

let known = null;

export function notify() {
  const waiting = new Map([...document.querySelectorAll("[data-need]")].map((each) => [each.id, each]));
  const fresh = known === null ? [] : [...waiting.keys()].filter((id) => !known.has(id));
  known = new Set(waiting.keys());
  if (!fresh.length || !document.hidden || !("Notification" in window) || Notification.permission !== "granted") return;
  const [first] = fresh;
  const told = waiting.get(first).querySelector(".why").innerText || waiting.get(first).querySelector(".why").textContent;
  const note = new Notification("Tallystick needs you", { body: told.replace(/\s+/g, " ").trim().slice(0, 200), tag: first });
  note.onclick = () => {
    window.focus();
    document.getElementById(first)?.focus();
  };
}
