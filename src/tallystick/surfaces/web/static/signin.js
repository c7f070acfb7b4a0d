// On to the page's own host name, where the browser finds it; otherwise say what to do.
const here = document.getElementById("go");
try {
  await fetch(here.dataset.try, { mode: "no-cors", cache: "no-store" });
  location.replace(here.dataset.go);
} catch {
  here.hidden = true;
  document.getElementById("unresolved").hidden = false;
}
