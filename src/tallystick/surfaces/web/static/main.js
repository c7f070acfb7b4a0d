// The page in the browser: keeps what is shown fresh, and turns forms and buttons into calls. It decides nothing.

import { listen } from "./stream.js";
import { morph } from "./morph.js";
import { localFields, tell as tellTimes } from "./times.js";
import { attend } from "./forms.js";
import { hold } from "./hold.js";
import { chat } from "./chat.js";
import { keys } from "./keys.js";
import { menu } from "./menu.js";
import { elsewhere, notify } from "./notify.js";
import { palette } from "./palette.js";
import { stay } from "./order.js";

const QUIET_MS = 15000; // Leases and presence change without an event, so look again now and then.
const HIDDEN_MS = 30000; // Nobody looks, and the tab's title still says what waits.
const main = () => document.getElementById("main");

let asking = false;
let again = false;
let seen = Number(main()?.dataset.seq ?? 0);

/** Fetch this view once more and put what changed in place. Calls that come meanwhile end in one more look. */
async function refresh() {
  if (asking) {
    again = true;
    return;
  }
  asking = true;
  try {
    const reply = await fetch(location.href, { headers: { "Tally-Part": "main" }, cache: "no-store" });
    if (reply.status === 401) return location.reload();
    if (reply.ok) show(await reply.text());
  } catch {
    // The stream shows that the connection is lost, and asks again when it is back.
  } finally {
    asking = false;
    if (again) {
      again = false;
      refresh();
    }
  }
}

function show(text) {
  const fresh = new DOMParser().parseFromString(text, "text/html").getElementById("main");
  if (!fresh) return;
  const known = new Set([...document.querySelectorAll(".ev[id]")].map((row) => row.id));
  document.title = fresh.dataset.title || document.title;
  fresh.removeAttribute("data-title");
  morph(main(), fresh);
  for (const row of document.querySelectorAll(".ev[id]")) if (!known.has(row.id)) row.classList.add("new");
  tellTimes();
  hold(main());
  notify();
  document.dispatchEvent(new CustomEvent("tally:shown"));
}

function state(name, word) {
  const live = document.getElementById("live");
  live.dataset.state = name;
  live.querySelector(".word").textContent = word;
  live.title = seen ? `up to event ${seen.toLocaleString()}` : "";
}

function follow() {
  const address = main()?.dataset.live;
  if (!address) return state("off", "as it was");
  listen(address, {
    since: () => (address.startsWith("/v1/") ? seen : null),
    event(id) {
      if (id) seen = Math.max(seen, id);
      state("on", "live");
      refresh();
    },
    open() {
      state("on", "live");
      refresh();
    },
    lost: () => state("lost", "connection lost, trying again"),
  });
}

/** Where we are may be far along the tabs, and the count beside the first moves the others. */
function aim() {
  const tabs = document.getElementById("tabs");
  const here = tabs?.querySelector("[aria-current]");
  if (here) tabs.scrollLeft = here.offsetLeft - tabs.clientWidth / 3;
}

tellTimes();
localFields();
aim();
chat();
menu();
palette();
keys();
hold(main());
notify();
stay(main);
attend(refresh);
follow();
setInterval(tellTimes, 1000);
elsewhere().then(aim);
setInterval(elsewhere, HIDDEN_MS);
setInterval(() => document.hidden || !main()?.dataset.live || refresh(), QUIET_MS);
setInterval(() => document.hidden && main()?.dataset.live && refresh(), HIDDEN_MS);
