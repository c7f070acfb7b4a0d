// Forms and buttons as calls of operations. A refusal is shown where it was asked for, with its hint and its fencing.

import { compose } from "./composer.js";
import { focusIn, toast, worded } from "./feedback.js";
import { read } from "./fields.js";

export async function call(operation, given, options = {}) {
  const reply = await fetch(`/act/${operation}`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "Idempotency-Key": crypto.randomUUID() },
    body: JSON.stringify(given),
    ...options,
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
    else if ("demo" in button.dataset) forget(button, refresh);
    else if (button.dataset.op) press(button, refresh);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") close(event.target.closest("details.act[open]"));
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.target.closest("form[data-op]")?.requestSubmit();
  });
  document.addEventListener("toggle", (event) => opened(event.target), true);
  document.addEventListener("input", (event) => {
    if (event.target.matches("[aria-invalid]")) forgive(event.target);
    const slider = event.target.closest("[data-replay] input");
    if (slider) slide(slider, refresh);
  });
  compose();
}

/** What opens gets the focus, and the panel that was open before gives way. */
function opened(details) {
  if (!details.open || !details.matches?.("details.act")) return;
  for (const other of document.querySelectorAll("details.act[open]")) {
    if (other !== details && !other.contains(details)) other.open = false;
  }
  for (const field of details.querySelectorAll("select[data-options]")) {
    if (!field.options.length) field.append(document.getElementById(field.dataset.options).content.cloneNode(true));
  }
  focusIn(details);
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
  say(form, null);
  try {
    const outside = "first" in form.dataset; // Once joined, the page shows a form that need not join.
    const { then, ...given } = await read(form);
    settle(form, await calls(form, given, then), outside);
  } catch (failed) {
    say(form, failed.refusal ?? { code: "unreadable", message: String(failed.message), hint: "" });
  } finally {
    button.disabled = false;
    refresh();
  }
}

/** A form's call, what has to come before it and what follows from it. What needs no place in the turn order is joined
 * for without one (`data-aside`); who only joined for a call that was refused, or that is over with it (`data-back`), is
 * out again. */
async function calls(form, given, then) {
  const { first, op, aside, back, then: next } = form.dataset;
  const here = { room_id: given.room_id };
  const member = first && (await call("rooms.show", here)).answer?.members.some((each) => each.agent_id === "user");
  if (first && !member) {
    const joined = await call(first, aside === undefined ? here : { ...here, in_order: false });
    if (joined.error) return joined;
  }
  const done = await call(op, given);
  const kept = !done.error && (done.answer.status ?? "") !== "not_yet" && done.answer.status !== "takeover_available";
  if (first && !member && (back !== undefined || !kept) && op !== "rooms.close") await call("rooms.leave", here);
  if (next && kept) {
    const after = await call(next, then);
    if (after.error) return after;
  }
  return done;
}

function settle(form, { answer, error }, outside) {
  if (error) return say(form, error);
  if (answer.status === "not_yet" || answer.status === "takeover_available") {
    const who = answer.current_owner ? `${answer.current_owner} holds it.` : answer.reserved_for ? `It is kept for ${answer.reserved_for}.` : "";
    return say(form, { code: "", message: `The stick is not free. ${who}`, hint: `${outside ? "You are not in the turn order, and nobody waits for you. " : ""}To wait for it: \`tally hold\`, at a terminal.` });
  }
  form.reset();
  form.dispatchEvent(new CustomEvent("tally:done", { bubbles: true }));
  close(form.closest("details.act"));
  toast(done(form, answer));
  if (form.dataset.go) location.assign(form.dataset.go.replace("{job}", encodeURIComponent(answer.job?.job_id ?? "")));
}

function done(form, answer) {
  const words = { "turns.pass": "Passed", "turns.release": "Released", "turns.wait": "You have the stick", "turns.takeover": "You have the stick", "messages.send": "Sent", "messages.relay": "Relayed", "notes.add": "Noted", "rooms.close": "Closed", "rooms.leave": "Left", "jobs.create": "Queued", "jobs.message": "Answered", "jobs.waive": "Waived", "tasks.macro.merge_report": "The report is made" };
  const to = answer.reserved_for ? ` to ${answer.reserved_for}` : answer.turn_id ? `, turn ${answer.turn_id}` : answer.job && form.dataset.op === "jobs.create" ? ` as ${answer.job.job_id}` : "";
  return form.dataset.done ?? `${words[form.dataset.op] ?? "Done"}${to}.`;
}

async function press(button, refresh) {
  const { op, event, room, given, done: words, undo } = button.dataset;
  const about = op === "notifications.ack" ? "notify_event_id" : "event_id";
  const input = given ? JSON.parse(given) : { room_id: room, [about]: event };
  button.disabled = true;
  const { error } = await call(op, input);
  button.disabled = false;
  if (error) toast(`${error.message} ${error.hint}`, "bad");
  else if (words) toast(words, "", undo ? () => call(undo, { room_id: input.room_id, item: input.item }).then(refresh) : null);
  if (!error) close(button.closest("details.act"));
  refresh();
}

async function forget(button, refresh) {
  button.disabled = true;
  const reply = await fetch("/demo/remove", { method: "POST" }).catch(() => null);
  const { error } = (await reply?.json().catch(() => null)) ?? {};
  toast(reply?.ok ? "The demo is deleted." : error?.message ?? "The hub did not answer.", reply?.ok ? "" : "bad");
  button.disabled = false;
  refresh();
}

/** A refusal in words: at the field it is about, or where the form's answer stands. */
function say(form, error) {
  const output = form.querySelector("output");
  for (const field of form.querySelectorAll("[aria-invalid]")) forgive(field);
  if (!error) return output.replaceChildren();
  const box = document.createElement("div");
  box.className = "refusal";
  box.setAttribute("role", "alert");
  const field = named(form, error);
  for (const text of [error.message, error.hint, fence(error.details)].filter(Boolean)) {
    const line = document.createElement("div");
    line.append(...worded(text));
    box.append(line);
  }
  const label = field?.closest("label");
  if (!label) return output.replaceChildren(box);
  // The label is the reader's own until they change the field: news must not take the refusal away.
  label.dataset.own = "";
  label.append(box);
  field.setAttribute("aria-invalid", "true");
  field.focus();
}

function forgive(field) {
  const label = field.closest("label");
  field.removeAttribute("aria-invalid");
  label?.querySelector(".refusal")?.remove();
  if (label) delete label.dataset.own;
}

function named(form, error) {
  const name = error.details?.field;
  const needed = form.querySelectorAll("[required]:not([type=checkbox])");
  const field = name ? form.elements.namedItem(name) : needed.length === 1 ? needed[0] : null;
  return field && field.type !== "hidden" && field.focus ? field : null;
}

function fence(details) {
  if (details?.current_turn_id === undefined) return "";
  const holder = details.current_owner ? `held by ${details.current_owner}` : "held by nobody";
  return `Now: turn ${details.current_turn_id}, ${holder}, ${String(details.room_state).replace("_", " ")}.`;
}

export function close(details) {
  if (!details) return;
  details.open = false;
  details.querySelector("summary").focus();
}

async function copy(button) {
  await navigator.clipboard.writeText(button.dataset.copy).catch(() => {});
  button.textContent = "Copied";
  setTimeout(() => (button.textContent = "Copy"), 2000);
}
