// The embedded tables, parsed when first needed, and small builders of elements.
// Every text goes through textContent: labels and prompts are free text from models.
const cache = new Map();
const load = (name) => {
  if (!cache.has(name)) {
    const element = document.getElementById(`data-${name}`);
    cache.set(name, element ? JSON.parse(element.textContent) : null);
  }
  return cache.get(name);
};
const vocabulary = load("vocabulary");
const pictures = load("pictures");
const conditionOf = (c) => {
  const name = vocabulary.conditions[c];
  return name in vocabulary.conditionWords ? `${name}, ${vocabulary.conditionWords[name]}` : name;
};
const spaced = (name) => name.replaceAll("_", " ");

const make = (tag, attributes = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
};
const drawn = (tag, attributes) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
};

const DASH = "–";
const MINUS = "−";
const fixed = (value, digits) => {
  if (value === null || value === undefined) return DASH;
  const text = value.toFixed(digits);
  return Number(text) === 0 ? text.replace("-", "") : text.replace("-", MINUS);
};
const percent = (value) => (value === null || value === undefined ? DASH : `${fixed(100 * value, 1)}%`);
const pValue = (value) => {
  if (value === null || value === undefined) return DASH;
  return value < 0.001 ? "<0.001" : value.toFixed(3);
};

// One value of a column; a column that has none at all is null as a whole.
const valueAt = (column, k) => (column ? column[k] ?? null : null);

// An interval or bounds as text; empty without.
const ends = (low, high, k, digits, factor = 1) =>
  valueAt(low, k) === null || valueAt(high, k) === null ? "" : `[${fixed(factor * low[k], digits)}, ${fixed(factor * high[k], digits)}]`;

// What a reader said about image `i`: the facts of every image and its own.
const factsOf = (reader, i) => {
  const table = load(`${reader}-facts`);
  return [...table.common, ...table.own[i]].map((k) => table.kinds[k]);
};
const counts = (person) => person < 1 || vocabulary.people === "any";

// "shows", "not", or "missing"; with the labels that were read, or the reason, as text.
const stateOf = (reader, i, dimension, label) => {
  const labels = [];
  let reason = null;
  let read = false;
  for (const [person, d, l, r] of factsOf(reader, i)) {
    if (d !== dimension || !counts(person)) continue;
    if (l >= 0) { labels.push(l); read = true; }
    else if (vocabulary.reasons[r] === "empty") read = true;
    else reason = vocabulary.reasons[r];
  }
  if (!read) return { state: "missing", text: spaced(reason ?? "not_read") };
  const text = [...new Set(labels)].map((l) => spaced(vocabulary.labels[l])).join(", ") || "nothing";
  return { state: labels.includes(label) ? "shows" : "not", text };
};
