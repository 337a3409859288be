// Start: one reader at a time, choices of figures, and the parts that are drawn from data.
for (const select of document.querySelectorAll("[data-choice]")) {
  const groups = document.querySelectorAll(`#${CSS.escape(select.dataset.choice)} [data-group]`);
  const choose = () => groups.forEach((element) => { element.hidden = element.dataset.group !== select.value; });
  select.addEventListener("change", choose);
  choose();
}

const started = new Set();
const showReader = (chosen) => {
  for (const box of document.querySelectorAll("[data-reader]")) {
    const reader = box.dataset.reader;
    box.hidden = reader !== chosen;
    document.querySelector(`nav[data-sections="${reader}"]`).hidden = reader !== chosen;
    if (reader !== chosen || started.has(reader)) continue;
    started.add(reader);
    associations(box.querySelector("[data-associations]"), reader);
    const shown = box.querySelector("[data-gallery]");
    if (shown) gallery(shown, reader);
  }
};
const first = document.querySelector("[data-reader]");
if (first) showReader(first.dataset.reader);
const switcher = document.getElementById("reader-choice");
// The same section of the other reader comes where this one was.
const changeReader = () => {
  const sections = [...document.querySelectorAll("[data-reader]:not([hidden]) > section")];
  const here = sections.filter((section) => section.getBoundingClientRect().top < 150).pop();
  const name = here?.id.split("-").pop();
  const over = here && here.getBoundingClientRect().bottom > 0;
  showReader(switcher.value);
  if (over) document.getElementById(`${switcher.value}-${name}`)?.scrollIntoView({ behavior: "instant" });
};
if (switcher) switcher.addEventListener("change", changeReader);

for (const dialog of document.querySelectorAll("dialog")) {
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
}
