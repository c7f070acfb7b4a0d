// The page by keyboard: search, help, the palette, and the list of what waits, item by item.

import { help } from "./menu.js";
import { openPalette } from "./palette.js";

let at = null;

export function keys() {
  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      return openPalette();
    }
    if (event.ctrlKey || event.metaKey || event.altKey || writing(event.target) || document.querySelector("dialog[open]")) return;
    if (pressed(event.key, event)) event.preventDefault();
  });
  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-jump]");
    const target = link && document.querySelector(link.dataset.jump);
    if (!target) return;
    event.preventDefault();
    target.focus();
  });
  document.addEventListener("focusin", (event) => {
    const item = event.target.closest("[data-need]");
    if (item) at = { id: item.id, index: needs().indexOf(item) };
  });
  document.addEventListener("tally:shown", goOn);
}

const needs = () => [...document.querySelectorAll("[data-need]")];
const writing = (field) => field.matches?.("input:not([type=checkbox]):not([type=radio]), textarea, select") ?? false;

function pressed(key, event) {
  if (key === "/") return focus("#find");
  if (key === "?") return help() ?? true;
  if (key === "c") return focus("#say-text");
  if (key === "j" || key === "k") return move(key === "j" ? 1 : -1);
  const item = document.activeElement.closest("[data-need]");
  if (!item) return false;
  if (key === "Enter" && event.target === item) return click(item.querySelector("a.open"));
  if (["r", "a", "e", "s"].includes(key)) return act(item, key);
  return false;
}

function focus(selector) {
  const field = document.querySelector(selector);
  field?.focus();
  field?.select?.();
  return field !== null;
}

function click(element) {
  element?.click();
  return Boolean(element);
}

function move(step) {
  const items = needs();
  if (!items.length) return false;
  const now = items.indexOf(document.activeElement.closest("[data-need]"));
  items[Math.max(0, Math.min(items.length - 1, now < 0 ? 0 : now + step))].focus();
  return true;
}

/** What a key stands for on this item: a button is pressed, a form of its own sent, a panel opened. */
function act(item, key) {
  const found = item.querySelector(`[data-key="${key}"]`) ?? (key === "r" ? item.querySelector('[data-key="a"]') : null);
  if (!found) return false;
  if (found.matches("details")) found.open = true;
  else click(found.matches("form") ? found.querySelector("button") : found);
  return true;
}

/** The item that had the focus is settled and gone: the next one takes its place. */
function goOn() {
  if (!at || document.getElementById(at.id)) return;
  const items = needs();
  const { index } = at;
  at = null;
  if (document.activeElement === document.body || !document.activeElement) (items[Math.min(index, items.length - 1)] ?? document.getElementById("main")).focus();
}
