// A tab that closes leaves the turn order: nobody should wait for a person who has gone. Going from view to view does
// not, and as long as another tab is open its person is still there.

import { standing } from "./hold.js";

const LOCK = "tally-page";
const MOVING_MS = 10000; // A view may take so long to answer.
const COUNT_MS = 500; // How soon a tab knows that it is the last one.
let others = false;
let moving = 0;

export function stay(main) {
  if (navigator.locks) {
    navigator.locks.request(LOCK, { mode: "shared" }, () => new Promise(() => {}));
    setInterval(count, COUNT_MS);
    count();
  }
  // Where the browser tells of every way to another view, that is all; else the ways that the page itself has.
  if (window.navigation) navigation.addEventListener("navigate", move);
  else {
    document.addEventListener("click", (event) => event.target.closest("a[href]:not([target]), #palette-list li") && move());
    document.addEventListener("submit", move);
    addEventListener("keydown", (event) => (["F5", "Enter"].includes(event.key) || ((event.ctrlKey || event.metaKey) && event.key === "r")) && move());
  }
  addEventListener("pagehide", (event) => {
    if (event.persisted || others || Date.now() - moving < MOVING_MS) return;
    for (const { room, lease } of standing(main())) if (!lease) leave(room);
  });
}

function leave(room) {
  fetch("/act/rooms.leave", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ room_id: room }), keepalive: true });
}

function move() {
  moving = Date.now();
}

async function count() {
  const { held } = await navigator.locks.query();
  others = held.filter((lock) => lock.name === LOCK).length > 1;
}
