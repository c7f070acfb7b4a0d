// What a form's fields say, as the input of an operation: names with dots nest, empty ones are left out.

const ROLES = ["examine", "review", "edit", "context", "output"];

export async function read(form) {
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
  if (field.type === "checkbox" || field.type === "radio") return field.checked ? (field.dataset.type === "flag" ? true : text) : undefined;
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
  return Promise.all(files.map((file) => putBlob(file, form.dataset.room)));
}

async function putBlob(file, room) {
  const query = new URLSearchParams({ room_id: room, name: file.name, mime_type: file.type || "application/octet-stream" });
  const reply = await fetch(`/v1/blobs.put?${query}`, { method: "PUT", body: file });
  const said = await reply.json();
  if (!reply.ok) throw Object.assign(new Error(said.error.message), { refusal: said.error });
  return { kind: file.type.startsWith("image/") ? "image" : "file", path: said.path, title: file.name, mime_type: said.mime_type, bytes: said.size, sha256: said.sha256 };
}
