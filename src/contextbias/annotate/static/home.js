// The first page: sends what still waits, also before somebody signs out.
"use strict";

(() => {
  const { study, annotator } = document.body.dataset;
  const status = document.getElementById("status");
  const waiting = new Waiting(study, annotator, (text, isWaiting) => {
    status.textContent = text === "stored" ? "" : text;
    status.classList.toggle("waiting", Boolean(isWaiting));
  }, () => {});
  const form = document.getElementById("out");
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (waiting.all().length === 0 || await waiting.flush()) form.submit();
  });
  if (waiting.all().length > 0) {
    waiting.flush().then((isEmpty) => { if (isEmpty) location.reload(); }); // the numbers are old
  }
})();
