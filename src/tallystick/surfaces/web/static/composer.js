// The composer: whom one speaks to is kept from message to message, and a reply or a quote is filled in from its row.

export function compose() {
  const form = document.getElementById("say");
  if (form) recall(form);
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    const form = document.getElementById("say");
    if (!button || !form) return;
    if (button.dataset.reply) answer(form, button, button.dataset.reply, "");
    if (button.dataset.quote) answer(form, button, button.dataset.quote, words(button));
    if ("unquote" in button.dataset) clear(form);
  });
  document.addEventListener("change", (event) => {
    const form = event.target.form;
    if (form?.id !== "say") return;
    if (event.target.name === "to") choose(form, event.target);
    if (event.target.type === "file") files(form);
  });
  document.addEventListener("dragover", (event) => event.target.closest?.("#say") && event.preventDefault());
  document.addEventListener("drop", (event) => {
    const form = event.target.closest?.("#say");
    if (!form || !event.dataTransfer.files.length) return;
    event.preventDefault();
    form.elements.attachments.files = event.dataTransfer.files;
    files(form);
  });
  document.addEventListener("submit", (event) => event.target.id === "say" && check(event), true);
  document.addEventListener("tally:done", (event) => event.target.id === "say" && sent(event.target));
  // A fresh view says what the hub knows, and not whom the reader has chosen.
  document.addEventListener("tally:shown", () => {
    const form = document.getElementById("say");
    if (form) tell(form);
  });
}

const chips = (form) => [...form.querySelectorAll("input[name=to]")];
const chosen = (form) => chips(form).filter((chip) => chip.checked).map((chip) => chip.value);
const place = (form) => `tally-to ${form.dataset.room}`;

/** One recipient takes the place of everybody, and everybody that of the rest. */
function choose(form, chip) {
  if (chip.checked && chip.value.startsWith("@")) only(form, [chip.value]);
  else if (chip.checked) for (const each of chips(form)) if (each.value.startsWith("@")) each.checked = false;
  if (!chosen(form).length) only(form, ["@all"]);
  keep(form);
}

function only(form, names) {
  for (const chip of chips(form)) chip.checked = names.includes(chip.value);
  if (!chosen(form).length) for (const chip of chips(form)) chip.checked = chip.value === "@all";
}

/** Whoever is answered can be addressed, also who is no agent here: a service, or one that has left. */
function offer(form, name) {
  if (name.startsWith("human:") || name === "system" || chips(form).some((chip) => chip.value === name)) return;
  const label = chips(form).at(-1).closest("label").cloneNode(true);
  label.id = `to-${name}`;
  label.dataset.own = "";
  Object.assign(label.querySelector("input"), { value: name, checked: false });
  Object.assign(label.querySelector("span"), { textContent: name, title: name });
  form.querySelector("fieldset.to").append(label);
}

function keep(form) {
  if (!form.dataset.to) sessionStorage.setItem(place(form), JSON.stringify(chosen(form)));
  tell(form);
}

function recall(form) {
  const kept = form.dataset.to ? [form.dataset.to] : JSON.parse(sessionStorage.getItem(place(form)) ?? "[]");
  if (kept.length) only(form, kept);
  tell(form);
}

function tell(form) {
  const to = chips(form).filter((chip) => chip.checked);
  const names = to.map((chip) => chip.labels[0].innerText.trim());
  form.elements.text.placeholder = `Write to ${to.some((chip) => chip.value === "@all") ? "everybody" : names.join(", ")}… Markdown; drop files here`;
}

function check(event) {
  const form = event.target;
  const { text, attachments } = form.elements;
  text.setCustomValidity(text.value.trim() || attachments.files.length ? "" : "Write something, or attach a file.");
  if (form.reportValidity()) return;
  event.preventDefault();
  event.stopPropagation();
  text.addEventListener("input", () => text.setCustomValidity(""), { once: true });
}

/** The form was emptied: whom it was for stays. */
function sent(form) {
  const to = form.dataset.to ? [form.dataset.to] : JSON.parse(sessionStorage.getItem(place(form)) ?? '["@all"]');
  clear(form);
  only(form, to);
  files(form);
  form.elements.text.focus();
}

function files(form) {
  const names = [...form.elements.attachments.files].map((file) => file.name);
  document.getElementById("say-files").textContent = names.length ? ` ${names.join(", ")}` : "";
}

function answer(form, button, id, quote) {
  form.elements.reply_to.value = id;
  form.elements.quote_text.value = quote;
  const box = document.getElementById("say-quoted");
  box.hidden = false;
  box.querySelector("blockquote").textContent = quote || words(button).slice(0, 200);
  const by = button.dataset.by;
  if (by !== "user") offer(form, by);
  only(form, [by]);
  tell(form);
  form.elements.text.focus();
}

function words(button) {
  const row = button.closest(".ev");
  const chosen = getSelection();
  const inside = chosen && !chosen.isCollapsed && row.contains(chosen.anchorNode) && row.contains(chosen.focusNode);
  return (inside ? chosen.toString() : (row.querySelector(".body > .said")?.innerText ?? "")).slice(0, 4000);
}

function clear(form) {
  form.elements.reply_to.value = "";
  form.elements.quote_text.value = "";
  document.getElementById("say-quoted").hidden = true;
}
