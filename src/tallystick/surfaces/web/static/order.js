// A tab that closes leaves the turn order: nobody should wait for a person who has gone. Going from view to view does
// not, and as long as another tab is open its person is still there.

const LOCK = "tally-page";
let others = false;
let moving = 0;

export function stay(main) {
  if (navigator.locks) {
    navigator.locks.request(LOCK, { mode: "shared" }, () => new Promise(() => {}));
    setInterval(count, 2000);
    count();
  }
  document.addEventListener("click", (event) => event.target.closest("a[href]:not([target])") && move());
  document.addEventListener("submit", move);
  addEventListener("keydown", (event) => (event.key === "F5" || ((event.ctrlKey || event.metaKey) && event.key === "r")) && move());
  addEventListener("pagehide", (event) => {
    const { room, member, hold } = main().dataset;
    if (member === undefined || hold || event.persisted || others || Date.now() - moving < 3000) return;
    fetch("/act/rooms.leave", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ room_id: room }), keepalive: true });
  });
}

function move() {
  moving = Date.now();
}

async function count() {
  const { held } = await navigator.locks.query();
  others = held.filter((lock) => lock.name === LOCK).length > 1;
}
