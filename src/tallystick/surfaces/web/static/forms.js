// Forms and buttons as calls of operations. A refusal is shown where it was asked for, with its hint and its fencing.

import { compose } from "./composer.js";

const ROLES = ["examine", "review", "edit", "context", "output"];

export async function call(operation, given) {
  const reply = await fetch(`/act/${operation}`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "Idempotency-Key": crypto.randomUUID() },
    body: JSON.stringify(given),
  }).catch(() => null);
  if (!reply) return { error: { code: "connection_lost", message: "The hub did not answer.", hint: "Nothing may have been done: look at the page once it is live again, then try again." } };
  const said = await reply.json().catch(() => ({}));
  return reply.ok ? { answer: said } : { error: said.error ?? { code: String(reply.status), message: "The hub refused.", hint: "" } };
}

export function attend(refresh) {
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!form.dataset.op) return;
    event.preventDefault();
    submit(form, refresh);
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.dataset.copy) copy(button);
    else if (button.dataset.op && button.dataset.event) press(button, refresh);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") close(event.target.closest("details.act[open]"));
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.target.closest("form[data-op]")?.requestSubmit();
  });
  document.addEventListener("input", (event) => {
    const slider = event.target.closest("[data-replay] input");
    if (slider) slide(slider, refresh);
  });
  compose();
}

/** The room at another seq, in place: the slider keeps its focus, so that an arrow key can be held down. */
function slide(slider, refresh) {
  document.getElementById("slider-at").textContent = `${Number(slider.value).toLocaleString()} of ${Number(slider.max).toLocaleString()}`;
  history.replaceState(null, "", `?seq=${slider.value}`);
  refresh();
}

async function submit(form, refresh) {
  const button = form.querySelector("button:not([type])");
  if (button.disabled) return;
  button.disabled = true;
  try {
    const given = await read(form);
    let done = {};
    if (form.dataset.first) done = await call(form.dataset.first, { room_id: given.room_id });
    if (!done.error) done = await call(form.dataset.op, given);
    settle(form, done);
  } catch (failed) {
    say(form, failed.refusal ?? { code: "unreadable", message: String(failed.message), hint: "" });
  } finally {
    button.disabled = false;
    refresh();
  }
}

function settle(form, { answer, error }) {
  if (error) return say(form, error);
  if (answer.status === "not_yet" || answer.status === "takeover_available") {
    const state = answer.room_state.replace("_", " ");
    return say(form, { code: answer.status, message: `The stick is not free: the room is ${state}.`, hint: "You are in the sequence now, and your turn will come. This page shows it." });
  }
  form.querySelector("output").replaceChildren();
  form.reset();
  form.dispatchEvent(new CustomEvent("tally:done", { bubbles: true }));
  close(form.closest("details.act"));
  toast(done(form.dataset.op, answer));
}

function done(operation, answer) {
  const words = { "turns.pass": "Passed", "turns.release": "Released", "turns.wait": "You have the stick", "turns.takeover": "You have the stick", "messages.send": "Sent", "messages.relay": "Relayed", "notes.add": "Noted", "rooms.close": "Closed", "rooms.leave": "Left", "tasks.macro.merge_report": "The report is made" };
  const to = answer.reserved_for ? ` to ${answer.reserved_for}` : answer.turn_id ? `, turn ${answer.turn_id}` : "";
  return `${words[operation] ?? "Done"}${to}.`;
}

async function press(button, refresh) {
  button.disabled = true;
  const about = button.dataset.op === "notifications.ack" ? "notify_event_id" : "event_id";
  const { error } = await call(button.dataset.op, { room_id: button.dataset.room, [about]: button.dataset.event });
  button.disabled = false;
  if (error) toast(`${error.message} ${error.hint}`, "bad");
  refresh();
}

function say(form, error) {
  const box = document.createElement("div");
  box.className = "refusal";
  box.setAttribute("role", "alert");
  const parts = [["b", error.code], ["span", ` ${error.message}`], ["div", error.hint], ["div", fence(error.details)]];
  for (const [tag, text] of parts) if (text) box.append(Object.assign(document.createElement(tag), { textContent: text }));
  form.querySelector("output").replaceChildren(box);
}

function fence(details) {
  if (details?.current_turn_id === undefined) return "";
  const holder = details.current_owner ? `held by ${details.current_owner}` : "held by nobody";
  return `Now: turn ${details.current_turn_id}, ${holder}, ${String(details.room_state).replace("_", " ")}.`;
}

export function toast(text, tone = "") {
  const note = Object.assign(document.createElement("div"), { className: `toast ${tone}`, textContent: text });
  document.getElementById("toasts").append(note);
  setTimeout(() => note.remove(), 6000);
}

function close(details) {
  if (!details) return;
  details.open = false;
  details.querySelector("summary").focus();
}

async function copy(button) {
  await navigator.clipboard.writeText(button.dataset.copy).catch(() => {});
  button.textContent = "Copied";
  setTimeout(() => (button.textContent = "Copy"), 2000);
}

async function read(form) {
  const given = {};
  for (const field of form.elements) {
    if (!field.name || field.disabled) continue;
    const value = await valueOf(field, form);
    if (value === undefined) continue;
    put(given, field.name.split("."), value, field.dataset.type === "many");
  }
  return given;
}

function put(given, [name, ...rest], value, many) {
  if (rest.length) put((given[name] ??= {}), rest, value, many);
  else if (many) (given[name] ??= []).push(value);
  else given[name] = value;
}

async function valueOf(field, form) {
  const text = field.value;
  if (field.type === "checkbox") return field.checked ? (field.dataset.type === "flag" ? true : text) : undefined;
  if (field.type === "file") return upload(field, form);
  if (field.dataset.type === "int") return Number(text);
  if (!text.trim()) return field.name === "text" ? "" : undefined;
  if (field.dataset.type === "lines") return lines(text);
  if (field.dataset.type === "artifacts") return lines(text).map(artifact);
  return text;
}

function lines(text) {
  return text.split("\n").map((line) => line.trim()).filter(Boolean);
}

/** `src/a.py:1-20 edit why`: a path, perhaps lines, perhaps what to do with it, perhaps a note. */
function artifact(line) {
  const [place, role, ...note] = line.split(/\s+/);
  const [, path, first, last] = /^(.*?)(?::(\d+)(?:-(\d+))?)?$/.exec(place);
  const known = ROLES.includes(role);
  const rest = (known ? note : [role, ...note]).filter(Boolean).join(" ");
  return {
    path,
    role: known ? role : "examine",
    ...(first ? { lines: [Number(first), Number(last ?? first)] } : {}),
    ...(rest ? { note: rest } : {}),
  };
}

async function upload(field, form) {
  const files = [...field.files];
  if (!files.length) return undefined;
  return Promise.all(files.map((file) => put_blob(file, form.dataset.room)));
}

async function put_blob(file, room) {
  const query = new URLSearchParams({ room_id: room, name: file.name, mime_type: file.type || "application/octet-stream" });
  const reply = await fetch(`/v1/blobs.put?${query}`, { method: "PUT", body: file });
  const said = await reply.json();
  if (!reply.ok) throw Object.assign(new Error(said.error.message), { refusal: said.error });
  return { kind: file.type.startsWith("image/") ? "image" : "file", path: said.path, title: file.name, mime_type: said.mime_type, bytes: said.size, sha256: said.sha256 };
}
