// Relative times grow older by themselves, and exact ones are shown in the reader's own zone.

const SPANS = [
  [86400000, "d"],
  [3600000, "h"],
  [60000, "min"],
  [1000, "s"],
];

const DAY_MS = 86400000; // What is older is told by its day; the exact time is on hover.

export function span(ms) {
  for (const [size, unit] of SPANS) if (ms >= size) return `${Math.floor(ms / size)} ${unit}`;
  return "0 s";
}

const forms = {
  ago: (then, now) => (now - then < 1000 ? "now" : `${span(now - then)} ago`),
  left: (then, now) => (then > now ? `${span(then - now)} left` : `ran out ${span(now - then)} ago`),
  clock: (then, now) => (now - then < DAY_MS ? clock(then) : new Date(then).toLocaleDateString([], { day: "numeric", month: "short" })),
};

function clock(then, fine) {
  const parts = { hour: "2-digit", minute: "2-digit", hour12: false, ...(fine ? { second: "2-digit" } : {}) };
  return new Date(then).toLocaleTimeString([], parts);
}

export function tell() {
  const now = Date.now();
  for (const time of document.querySelectorAll("time[data-form]")) {
    const then = Date.parse(time.dateTime);
    const text = forms[time.dataset.form](then, now);
    if (time.textContent !== text) time.textContent = text;
    if (!time.dataset.told) {
      time.title = new Date(then).toLocaleString([], { dateStyle: "full", timeStyle: "long" });
      time.dataset.told = "1";
    }
  }
  for (const tick of document.querySelectorAll("[data-clock]")) {
    const text = clock(Number(tick.dataset.clock), "fine" in tick.dataset);
    if (tick.textContent !== text) tick.textContent = text;
  }
}

/** Fields for a day and a time are the reader's own; what is sent along in their place is the same moment in UTC. */
export function localFields() {
  for (const field of document.querySelectorAll("input[data-utc]")) {
    const sent = field.form.elements.namedItem(field.dataset.utc);
    const then = Date.parse(sent.value);
    if (!Number.isNaN(then)) field.value = new Date(then - new Date(then).getTimezoneOffset() * 60000).toISOString().slice(0, 16);
    field.addEventListener("change", () => (sent.value = field.value ? new Date(field.value).toISOString() : ""));
  }
}
