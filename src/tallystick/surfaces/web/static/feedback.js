// What the page says back: one short note at a time, with a way to undo, and the focus where something opened.

let timer = 0;

/** What the hub says, for a person: what is in backticks stands out, and a time is the reader's own. */
export function worded(text) {
  return String(text).split(/`([^`]*)`|(\d{4}-\d\d-\d\dT[\d:.]+Z)/).flatMap((part, index) => {
    if (!part) return [];
    if (index % 3 === 1) return [Object.assign(document.createElement("b"), { textContent: part })];
    return [index % 3 === 2 ? local(new Date(part)) : part];
  });
}

function local(then) {
  const time = then.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hour12: false });
  const today = then.toDateString() === new Date().toDateString();
  return today ? time : `${then.toLocaleDateString([], { day: "numeric", month: "short" })}, ${time}`;
}

/** A note that replaces the one before. With `undo` it can be taken back while it stands. */
export function toast(text, tone = "", undo = null) {
  const note = Object.assign(document.createElement("div"), { className: `toast ${tone}` });
  note.append(...worded(text));
  if (undo) {
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: "Undo", id: "undo" });
    button.addEventListener("click", () => {
      note.remove();
      undo();
    });
    note.append(" ", button);
  }
  document.getElementById("toasts").replaceChildren(note);
  clearTimeout(timer);
  timer = setTimeout(() => note.remove(), undo ? 10000 : 6000);
}

/** The first field of what opened, or its first button. */
export function focusIn(box) {
  const first = (selector) => [...box.querySelectorAll(selector)].find((each) => each.checkVisibility());
  (first("textarea, input:not([type=hidden]):not([hidden]), select") ?? first(".panel button, .panel a"))?.focus();
}
