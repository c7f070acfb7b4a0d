// Go to a room, a view, an agent or an id by typing a part of its name.

let found = [];
let chosen = 0;

const box = () => document.getElementById("palette");
const list = () => document.getElementById("palette-list");
const room = () => /^\/rooms\/([^/]+)/.exec(location.pathname)?.[1] ?? "";

export async function openPalette() {
  if (!box() || box().open) return;
  const text = document.getElementById("palette-text");
  text.value = "";
  box().showModal();
  await load();
  show(text.value); // Somebody may have typed while the list was on its way.
}

export function palette() {
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-palette]")) openPalette();
    const line = event.target.closest("#palette-list li");
    if (line) location.assign(line.dataset.href);
  });
  const text = document.getElementById("palette-text");
  text?.addEventListener("input", () => show(text.value));
  text?.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      choose(chosen + (event.key === "ArrowDown" ? 1 : -1));
    }
    if (event.key === "Enter") {
      event.preventDefault();
      const line = list().children[chosen];
      if (line) location.assign(line.dataset.href);
    }
  });
}

async function load() {
  const reply = await fetch(`/palette?from=${room()}`, { headers: { "Tally-Part": "main" } }).catch(() => null);
  const read = reply?.ok ? new DOMParser().parseFromString(await reply.text(), "text/html") : null;
  found = read ? [...read.querySelectorAll("a")].map((link) => ({ href: link.getAttribute("href"), name: link.textContent, kind: link.dataset.kind })) : [];
}

/** What fits every word, the rooms first; an id of this room and the search are always offered. */
function show(query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = found.filter(({ name, kind }) => words.every((word) => `${name} ${kind}`.toLowerCase().includes(word)));
  const lines = [...named(query.trim()), ...fits.slice(0, 30), ...(query.trim() ? [{ href: `/search?q=${encodeURIComponent(query.trim())}`, name: `Search for “${query.trim()}”`, kind: "everything" }] : [])];
  list().replaceChildren(...lines.map(line));
  choose(0);
}

function named(query) {
  const [, noun, number] = /^(JOB|CARD|TASK)-?(\d{1,15})$/i.exec(query) ?? [];
  const at = room();
  if (at && noun) return [{ href: `/rooms/${at}/${{ job: "jobs", card: "cards", task: "tasks" }[noun.toLowerCase()]}/${noun.toUpperCase()}-${number.padStart(3, "0")}`, name: query.toUpperCase(), kind: "in this room" }];
  const [, seq] = /^@(\d{1,15})$/.exec(query) ?? [];
  return at && seq ? [{ href: `/rooms/${at}/event/${seq}`, name: `event ${seq}`, kind: "in this room" }] : [];
}

function line({ href, name, kind }, index) {
  const item = document.createElement("li");
  item.id = `palette-${index}`;
  item.setAttribute("role", "option");
  item.dataset.href = href;
  item.append(Object.assign(document.createElement("span"), { textContent: name }), Object.assign(document.createElement("span"), { className: "soft", textContent: kind }));
  return item;
}

function choose(index) {
  const lines = [...list().children];
  chosen = Math.max(0, Math.min(lines.length - 1, index));
  lines.forEach((each, place) => each.setAttribute("aria-selected", String(place === chosen)));
  lines[chosen]?.scrollIntoView({ block: "nearest" });
  document.getElementById("palette-text").setAttribute("aria-activedescendant", lines[chosen]?.id ?? "");
}
