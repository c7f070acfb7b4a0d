// Replying and quoting: fills the composer from a row. The words to quote are those selected in it, or all of them.

export function compose() {
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    const form = document.getElementById("say");
    if (!button || !form) return;
    if (button.dataset.reply) answer(form, button, button.dataset.reply, "");
    if (button.dataset.quote) answer(form, button, button.dataset.quote, words(button));
    if ("unquote" in button.dataset) clear(form);
  });
  document.addEventListener("dragover", (event) => event.target.closest?.("#say") && event.preventDefault());
  document.addEventListener("drop", (event) => {
    const form = event.target.closest?.("#say");
    if (!form || !event.dataTransfer.files.length) return;
    event.preventDefault();
    form.elements.attachments.files = event.dataTransfer.files;
  });
  document.addEventListener("tally:done", (event) => event.target.id === "say" && clear(event.target));
}

function answer(form, button, id, quote) {
  form.elements.reply_to.value = id;
  form.elements.quote_text.value = quote;
  const box = document.getElementById("say-quoted");
  box.hidden = false;
  box.querySelector("blockquote").textContent = quote || words(button).slice(0, 200);
  const by = button.dataset.by === "user" ? "@all" : button.dataset.by;
  for (const field of form.querySelectorAll("input[name=to]")) field.checked = field.value === by;
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
