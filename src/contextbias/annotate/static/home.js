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
  let isLeaving = false;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    isLeaving = true;
    isLeaving = waiting.all().length === 0 || await waiting.flush();
    if (isLeaving) form.submit();
  });
  if (waiting.all().length > 0) {
    // The numbers on the page are old then.
    waiting.flush().then((isEmpty) => { if (isEmpty && !isLeaving) location.reload(); });
  }
})();
