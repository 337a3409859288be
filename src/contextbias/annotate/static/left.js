// Deletes what this browser keeps of an annotator who was removed, and tells its other windows.
"use strict";

(() => {
  const gone = document.currentScript.dataset.gone;
  try {
    for (const name of Object.keys(localStorage)) {
      if (name.startsWith(`contextbias:${gone}:`)) localStorage.removeItem(name);
    }
    localStorage.setItem("contextbias-removed", gone);
    localStorage.removeItem("contextbias-removed");
    sessionStorage.clear();
  } catch { /* no storage: nothing is kept */ }
})();
