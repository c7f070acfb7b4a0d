// The conversation as a place to stay in: it opens at its end, follows what is said while one is there, and says how
// much came while one was reading further up.


const NEAR = 60; // Pixels from the end that still count as being there.
let there = true;
let last = 0;

const rows = () => document.querySelector("#rows[role=log]");
const atEnd = (box) => box.scrollHeight - box.scrollTop - box.clientHeight < NEAR;
const newest = (box) => Math.max(0, ...[...box.querySelectorAll(".ev[data-seq]")].map((row) => Number(row.dataset.seq)));

export function chat() {
  const box = rows();
  if (!box) return;
  last = newest(box);
  if (!aim() && !new URLSearchParams(location.search).has("before")) toEnd();
  there = atEnd(box);
  box.addEventListener("scroll", () => {
    there = atEnd(box);
    if (there) document.getElementById("more-below")?.remove();
  });
  document.addEventListener("tally:shown", news);
  document.addEventListener("tally:done", (event) => event.target.id === "say" && toNewest());
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-re]");
    if (link && !document.getElementById(`e${link.dataset.re}`)) {
      event.preventDefault();
      location.assign(`${location.pathname.split("/").slice(0, 3).join("/")}/sessions?at=${link.dataset.re}#e${link.dataset.re}`);
    }
  });
  addEventListener("hashchange", aim);
}

/** The row that the address points at is shown, also when it was folded away. */
function aim() {
  const row = /^#e\d+$/.test(location.hash) && document.getElementById(location.hash.slice(1));
  if (!row) return false;
  const fold = row.closest("details.fold");
  if (fold) fold.open = true;
  row.scrollIntoView({ block: "center" });
  return true;
}

/** Who has said something sees it, also when they were reading at another place. */
function toNewest() {
  there = true;
  const query = new URLSearchParams(location.search);
  if (!query.has("at") && !query.has("before")) return;
  query.delete("at");
  query.delete("before");
  history.replaceState(null, "", `${location.pathname}?${query}`);
}

function toEnd() {
  const box = rows();
  box.scrollTop = box.scrollHeight;
}

function news() {
  const box = rows();
  if (!box) return;
  const head = newest(box);
  if (there) toEnd();
  else if (head > last) below(box, [...box.querySelectorAll(".ev[data-seq]")].filter((row) => Number(row.dataset.seq) > last).length);
  if (there) last = head;
}

function below(box, count) {
  let button = document.getElementById("more-below");
  if (!button) {
    button = Object.assign(document.createElement("button"), { type: "button", id: "more-below" });
    button.addEventListener("click", () => {
      toEnd();
      button.remove();
    });
    box.after(button);
  }
  button.textContent = `${count} new below`;
}

