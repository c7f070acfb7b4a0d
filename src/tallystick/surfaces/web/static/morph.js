// Changes a tree into another in place: what is equal is not touched, so scroll, focus, selection, half-typed text and
// open panels stay as they are. Elements with an id keep their identity wherever they move.

const OWN = { INPUT: ["value", "checked"], TEXTAREA: ["value"], OPTION: ["selected"], DETAILS: ["open"] };

export function morph(old, fresh) {
  if (old.isEqualNode(fresh)) return;
  if (kept(old)) return;
  attributes(old, fresh);
  if (old.tagName === "TEXTAREA" || old.tagName === "OUTPUT") return;
  children(old, fresh);
}

/** An open panel with a form belongs to the person who opened it, with the fence it was opened with, and so does
 * whatever is marked `data-own`: the message that a reply answers must not change under the person who writes it. */
function kept(node) {
  return "own" in node.dataset || (node.tagName === "DETAILS" && node.open && node.classList.contains("act"));
}

function attributes(old, fresh) {
  // A hidden field is a fence: the fresh one counts, until somebody opens the panel it is in.
  const own = old.type === "hidden" ? [] : OWN[old.tagName] ?? [];
  for (const { name, value } of fresh.attributes) {
    if (!own.includes(name) && old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && !own.includes(name)) old.removeAttribute(name);
  }
}

function children(old, fresh) {
  const named = new Map();
  for (const child of old.children) if (child.id) named.set(child.id, child);
  const wanted = new Set([...fresh.children].map((child) => child.id).filter(Boolean));
  // What is gone goes first, so that what comes after it need not move: whatever moves loses its focus and its scroll.
  for (const child of [...old.children]) if (child.id && !wanted.has(child.id) && !busy(child)) child.remove();
  let at = old.firstChild;
  for (const next of [...fresh.childNodes]) {
    const match = partner(at, next, named, wanted);
    if (!match) {
      old.insertBefore(document.importNode(next, true), at);
      continue;
    }
    // The space that stood around what is gone would make everything after it move as well.
    while (at && at !== match && at.nodeType !== Node.ELEMENT_NODE) {
      const space = at;
      at = at.nextSibling;
      space.remove();
    }
    // What has the focus never moves: what stands before it goes behind it, to be found there or to be dropped.
    while (at !== match && match.contains(document.activeElement)) {
      const before = at;
      at = at.nextSibling;
      old.append(before);
    }
    if (match === at) at = at.nextSibling;
    else old.insertBefore(match, at);
    if (match.nodeType === Node.ELEMENT_NODE) morph(match, next);
    else if (match.data !== next.data) match.data = next.data;
  }
  while (at) {
    const next = at.nextSibling;
    if (!busy(at)) at.remove();
    at = next;
  }
}

/** The old node that a fresh one continues: by its id, or the next one of its kind that nobody else will ask for. */
function partner(at, next, named, wanted) {
  if (next.id) {
    const found = named.get(next.id);
    named.delete(next.id);
    return found && found.tagName === next.tagName ? found : null;
  }
  if (!at || at.nodeType !== next.nodeType || at.nodeName !== next.nodeName) return null;
  return at.id && (wanted.has(at.id) || busy(at)) ? null : at.id ? null : at;
}

/** What the person is using stays, even when the fresh view no longer has it. */
function busy(node) {
  return node.nodeType === Node.ELEMENT_NODE && (kept(node) || node.querySelector("details.act[open]") !== null);
}
