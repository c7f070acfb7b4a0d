// Before anything is painted: the colours that were chosen here, unless the system's are wanted.
{
  const chosen = localStorage.getItem("tally-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
}
