// Runs before the first paint, so that a chosen theme does not flash the other one.
(() => {
  let kept = null;
  try { kept = localStorage.getItem("drlh-theme"); } catch { /* no storage: follow the system */ }
  if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept;
})();
