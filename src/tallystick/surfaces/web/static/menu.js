// What belongs to the person and not to a view: theme, help, desktop notifications, signing out.

import { toast } from "./feedback.js";

export function menu() {
  const chosen = localStorage.getItem("tally-theme") ?? "auto";
  for (const field of document.querySelectorAll("#theme input")) field.checked = field.value === chosen;
  document.addEventListener("change", (event) => event.target.name === "theme" && paint(event.target.value));
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button && "keys" in button.dataset) help();
    if (button && "notify" in button.dataset) allow();
    if (button && "signout" in button.dataset) leave();
    const menu = document.getElementById("menu");
    if (menu?.open && !menu.contains(event.target)) menu.open = false;
  });
}

function paint(name) {
  if (name === "auto") localStorage.removeItem("tally-theme");
  else localStorage.setItem("tally-theme", name);
  if (name === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
}

export function help() {
  const keys = document.getElementById("keys");
  if (!keys.open) keys.showModal();
}

async function allow() {
  if (!("Notification" in window)) return toast("This browser has no desktop notifications.", "bad");
  const said = await Notification.requestPermission();
  toast(said === "granted" ? "You will be told when something waits for you." : "The browser does not allow it.", said === "granted" ? "" : "bad");
}

async function leave() {
  const reply = await fetch("/logout", { method: "POST" }).catch(() => null);
  if (reply?.ok) location.assign("/");
  else toast("The hub did not answer: you are still signed in.", "bad");
}
