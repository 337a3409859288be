// Thumbnails, the gallery, the view of one picture, and the drawer of pictures behind a number.
const fileOf = (i) => decodeURIComponent(pictures.href[i].split("/").pop());
const nameOf = (i) => {
  const role = vocabulary.roles[pictures.role[i]];
  if (role === "all") return fileOf(i) || `seed ${pictures.seed[i]}`;
  return `${role}; ${conditionOf(pictures.condition[i])}; seed ${pictures.seed[i]}`;
};

// What is said of a picture in its alternative text, the most telling first.
const TOLD = new Map([
  ["gender_presentation", "presented as"], ["age_range", "appears"], ["clothing_garment", "garment"],
  ["hair_style", "hair style"], ["head_covering_type", "head covering"], ["skin_tone", "skin tone"],
  ["items", "items"], ["framing", "framing"], ["color_temperature", "colour temperature"],
  ["dominant_colors", "colours"], ["mood", "mood"],
]);
const MOST_TOLD = 5;
const MOST_LABELS = 2;

const toldOf = (reader, i) => {
  const labels = new Map();
  let nobody = false;
  for (const [person, d, l, r] of factsOf(reader, i)) {
    if (l < 0) { nobody ||= vocabulary.reasons[r] === "no_person"; continue; }
    if (person >= 1) continue;
    const name = vocabulary.dimensions[d];
    labels.set(name, [...(labels.get(name) ?? []), spaced(vocabulary.labels[l])]);
  }
  const parts = [...TOLD.keys()].filter((name) => labels.has(name))
    .map((name) => `${TOLD.get(name)} ${labels.get(name).slice(0, MOST_LABELS).join(" and ")}`);
  return [...(nobody ? ["no person seen"] : []), ...parts].slice(0, MOST_TOLD);
};

const altOf = (reader, i) => {
  const asked = pictures.prompts[pictures.prompt[i]][0];
  const told = toldOf(reader, i);
  const what = pictures.role[i] >= 0 && vocabulary.roles[pictures.role[i]] !== "all" ? `asked for: ${asked}` : fileOf(i);
  return `${what}; ${told.length ? `read: ${told.join(", ")}` : "not read"}`;
};

// Picture `at` of a group; the larger view goes through the same group.
const thumb = (reader, list, at, caption) => {
  const i = list[at];
  const name = `Picture ${at + 1} of ${list.length}; ${altOf(reader, i)}`;
  const data = load("thumbnails")[i];
  const picture = data
    ? make("img", { src: `data:image/webp;base64,${data}`, alt: name, width: 112, height: 112, decoding: "async" })
    : make("span", { class: "none" }, pictures.status[i] || "no preview");
  const button = make(
    "button",
    { type: "button", class: "thumb", onclick: () => view(reader, list, at) },
    picture, caption ? make("span", {}, caption) : null, data ? null : make("span", { class: "sr" }, name),
  );
  return button;
};

const thumbs = (reader, list, caption, first = 18) => {
  const box = make("div", { class: "thumbs" });
  const show = (from, to) => box.append(...list.slice(from, to).map((i, k) => thumb(reader, list, from + k, caption(i))));
  show(0, first);
  if (list.length <= first) return box;
  const more = make("button", { type: "button", class: "plain-button more" }, `Show all ${list.length}`);
  more.addEventListener("click", () => {
    show(first, list.length);
    more.remove();
    box.children[first].focus();
  });
  return make("div", {}, box, more);
};

const cells = new Map();
for (let i = 0; i < pictures.role.length; i += 1) {
  const key = `${pictures.generator[i]}|${pictures.role[i]}|${pictures.condition[i]}`;
  if (!cells.has(key)) cells.set(key, []);
  cells.get(key).push(i);
}
const cell = (generator, role, condition) => cells.get(`${generator}|${role}|${condition}`) ?? [];
const totals = new Map(pictures.totals.map(([g, r, c, n]) => [`${g}|${r}|${c}`, n]));

const shown = (generator, role, condition) => {
  const total = totals.get(`${generator}|${role}|${condition}`) ?? 0;
  const here = cell(generator, role, condition).length;
  return here < total ? `${here} of ${total} images are in this page` : "";
};

const used = (values) => [...new Set(values)].sort((a, b) => a - b);

const fillGallery = (grid, reader, role) => {
  const conditions = used(pictures.condition);
  grid.style.gridTemplateColumns = `repeat(${conditions.length}, minmax(0, 1fr))`;
  grid.replaceChildren();
  const generators = used(pictures.generator);
  for (const generator of generators) {
    const here = conditions.filter((condition) => totals.has(`${generator}|${role}|${condition}`));
    if (!here.length) continue;
    // Of pictures that came without a role, CF alone is what nobody has said.
    const untold = vocabulary.roles[role] === "all" && here.every((c) => vocabulary.conditions[c] === "CF");
    if (generators.length > 1) grid.append(make("h3", {}, vocabulary.generators[generator]));
    for (const condition of conditions) {
      const list = cell(generator, role, condition);
      const words = untold ? "condition not told" : conditionOf(condition);
      const name = conditions.length > 1 && here.includes(condition) ? make("h4", {}, words) : null;
      const part = shown(generator, role, condition);
      const title = make("div", {}, name, part ? make("p", { class: "soft" }, part) : null);
      const first = conditions.length > 1 ? 6 : 24;
      grid.append(make("div", {}, title, list.length ? thumbs(reader, list, () => "", first) : ""));
    }
  }
};

const gallery = (box, reader) => {
  // Last the pictures that came without a role.
  const roles = used(pictures.role).sort((a, b) =>
    (vocabulary.roles[a] === "all") - (vocabulary.roles[b] === "all") || vocabulary.roles[a].localeCompare(vocabulary.roles[b]));
  const grid = make("div", { class: "gallery" });
  const choice = make("select", { id: `${reader}-gallery-role` }, ...roles.map((r) => make("option", { value: r }, vocabulary.roles[r])));
  choice.addEventListener("change", () => fillGallery(grid, reader, Number(choice.value)));
  const label = make("label", { for: `${reader}-gallery-role` }, "Role");
  box.replaceChildren(roles.length > 1 ? make("p", { class: "choose" }, label, choice) : "", grid);
  fillGallery(grid, reader, roles[0]);
};

const open = (dialog, title, content, tools = null) => {
  const close = make("button", { type: "button", class: "plain-button", onclick: () => dialog.close() }, "Close");
  const heading = make("h2", { id: `${dialog.id}-h`, tabindex: "-1" }, title);
  dialog.replaceChildren(make("div", {}, make("header", {}, heading, tools, close), ...content));
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
  heading.focus();
};

const COHORTS = ["people", "objects", "scene", "camera"];
const said = (reader, i) => {
  const people = new Map();
  const unreadable = new Set();
  for (const [person, d, l, r] of factsOf(reader, i)) {
    if (vocabulary.reasons[r] === "not_readable") { unreadable.add(d); continue; }
    const place = person < 0 ? vocabulary.cohorts[d] : `person ${person + 1}`;
    const key = person < 0 && vocabulary.cohorts[d] === "people" ? "person 1" : place;
    if (!people.has(key)) people.set(key, new Map());
    const answers = people.get(key);
    if (!answers.has(d)) answers.set(d, { labels: [], reason: "" });
    if (l >= 0) answers.get(d).labels.push(vocabulary.labels[l]);
    else answers.get(d).reason = vocabulary.reasons[r] === "empty" ? "nothing" : spaced(vocabulary.reasons[r]);
  }
  const order = (name) => (name.startsWith("person") ? Number(name.slice(7)) : 100 + COHORTS.indexOf(name));
  const parts = [];
  for (const name of [...people.keys()].sort((a, b) => order(a) - order(b))) {
    const list = make("dl", { class: "said" });
    for (const [d, { labels, reason }] of [...people.get(name)].sort((a, b) => a[0] - b[0])) {
      list.append(
        make("dt", {}, spaced(vocabulary.dimensions[d])),
        labels.length ? make("dd", {}, labels.map(spaced).join(", ")) : make("dd", { class: "gone" }, reason),
      );
    }
    const title = name === "person 1" ? "Most prominent person" : name;
    parts.push(make("h3", {}, title[0].toUpperCase() + title.slice(1)), list);
  }
  if (unreadable.size) {
    const names = [...unreadable].map((d) => spaced(vocabulary.dimensions[d])).join(", ");
    parts.push(make("p", { class: "soft" }, `Not readable for this reader: ${names}.`));
  }
  return parts;
};

const turns = (reader, list, at) => {
  if (list.length < 2) return null;
  const turn = (title, to) => make("button", { type: "button", class: "plain-button", disabled: to < 0 || to >= list.length, onclick: () => {
    view(reader, list, to);
    const again = document.querySelector(`#viewer .turns button[data-turn="${title}"]:enabled`);
    if (again) again.focus();
  }, "data-turn": title }, title);
  return make("div", { class: "turns" }, turn("Previous", at - 1), make("span", {}, `${at + 1} of ${list.length}`), turn("Next", at + 1));
};

// Which group and picture the larger view shows: for the arrow keys.
const viewed = { reader: "", list: [], at: 0 };
const turnBy = (event) => {
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (!step || event.altKey || event.ctrlKey || event.metaKey) return;
  const to = viewed.at + step;
  if (viewed.list[to] === undefined) return;
  event.preventDefault();
  view(viewed.reader, viewed.list, to);
};
document.getElementById("viewer").addEventListener("keydown", turnBy);

const view = (reader, list, at) => {
  const i = list[at];
  Object.assign(viewed, { reader, list, at });
  const data = load("thumbnails")[i];
  const small = data ? `data:image/webp;base64,${data}` : "";
  const href = pictures.href[i];
  const image = make("img", { src: href || small, alt: altOf(reader, i) });
  const note = make("p", { class: "soft", hidden: true }, "The original file is not beside this page; its thumbnail is shown.");
  image.addEventListener("error", () => {
    if (small && image.src !== small) { image.src = small; note.hidden = false; } else image.hidden = true;
  });
  const [text, variant] = pictures.prompts[pictures.prompt[i]];
  const facts = make("dl", { class: "said" });
  const line = (name, value) => { if (value !== "") facts.append(make("dt", {}, name), make("dd", {}, value)); };
  line("prompt", text);
  line("variant", variant);
  line("file", fileOf(i));
  line("generator", vocabulary.generators[pictures.generator[i]]);
  if (vocabulary.roles[pictures.role[i]] !== "all") line("condition", conditionOf(pictures.condition[i]));
  line("seed", String(pictures.seed[i]));
  line("status", pictures.status[i]);
  const left = make("div", {}, image, note, href ? make("p", {}, make("a", { href }, "Open the original file")) : null);
  const right = make("div", {}, facts, ...said(reader, i));
  open(document.getElementById("viewer"), nameOf(i), [make("div", { class: "view" }, left, right)], turns(reader, list, at));
};

const group = (reader, title, list, caption) =>
  list.length ? make("div", {}, make("h4", {}, `${title} (${list.length})`), thumbs(reader, list, caption)) : null;

// The pictures behind association `k`, by condition.
const drawer = (reader, k) => {
  const table = load(`${reader}-table`);
  const [g, r, d, l] = [table.g[k], table.r[k], table.d[k], table.l[k]];
  const columns = table.conditions.map((condition, c) => {
    const numbers = table.prevalence[c];
    const split = { shows: [], not: [], missing: [] };
    const texts = new Map();
    for (const i of cell(g, r, condition)) {
      const { state, text } = stateOf(reader, i, d, l);
      split[state].push(i);
      texts.set(i, text);
    }
    const interval = ends(numbers.low, numbers.high, k, 1, 100);
    const support = numbers.n[k] === null ? "not tested" : `of ${numbers.n[k]} images read; ${numbers.missing[k] ?? 0} missing`;
    const most = ends(numbers.least, numbers.most, k, 1, 100);
    const notes = [
      most ? `had all been read: between ${most}` : "",
      valueAt(numbers.reworded, k) === null ? "" : `other wordings: p ${pValue(valueAt(numbers.reworded, k))}`,
    ].filter(Boolean).join("; ");
    const part = shown(g, r, condition);
    const caption = (i) => texts.get(i);
    return make(
      "section", {},
      table.conditions.length > 1 ? make("h3", {}, conditionOf(condition)) : null,
      make("p", {}, make("strong", {}, percent(valueAt(numbers.p, k))), ` ${interval} ${support}`),
      notes ? make("p", { class: "soft" }, notes) : null,
      part ? make("p", { class: "soft" }, part) : null,
      group(reader, "Shows it", split.shows, caption),
      group(reader, "Does not", split.not, caption),
      group(reader, "Missing", split.missing, caption),
    );
  });
  const role = vocabulary.roles[r] === "all" ? "" : `${vocabulary.roles[r]}: `;
  const title = `${role}${spaced(vocabulary.dimensions[d])} “${spaced(vocabulary.labels[l])}”`;
  const line = make("ul", { class: "figures-line" });
  const item = (name, value) => { if (value !== DASH) line.append(make("li", {}, make("span", { class: "soft" }, `${name} `), value)); };
  const plain = (name, key, write) => item(name, write(valueAt(table[key], k)));
  const points = (key, low, high) => (valueAt(table[key], k) === null ? DASH : [`${fixed(table[key][k], 1)} pp`, ends(table[low], table[high], k, 1)].filter(Boolean).join(" "));
  item("generator", vocabulary.generators[g]);
  item("range", points("range", "rangeLow", "rangeHigh"));
  plain("range by chance", "chance", (v) => (v === null ? DASH : `${fixed(v, 1)} pp`));
  item("range had all been read", ends(table.rangeLeast, table.rangeMost, k, 1) || DASH);
  item("CCS", valueAt(table.ccs, k) === null ? DASH : [fixed(table.ccs[k], 1), ends(table.ccsLow, table.ccsHigh, k, 1)].filter(Boolean).join(" "));
  plain("χ²", "chi2", (v) => fixed(v, 2));
  plain("p", "p", pValue);
  plain("exact p", "exact", pValue);
  plain("q", "q", pValue);
  plain("p, contexts", "clustered", pValue);
  plain("q, contexts", "clusteredQ", pValue);
  plain("p, contexts permuted", "permuted", pValue);
  plain("equivalence p", "equivalence", pValue);
  plain("equivalence p, contexts", "clusteredEquivalence", pValue);
  item("paper's rule", { true: "invariant", false: "not invariant" }[table.paper[k]] ?? DASH);
  item("verdict", table.verdict[k] ?? DASH);
  open(document.getElementById("drawer"), title, [line, make("div", { class: "columns" }, ...columns)]);
};
