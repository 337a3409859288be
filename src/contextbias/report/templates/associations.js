// The table of labels: filtered, sorted and paged over column arrays.
const PAGE_SIZE = 25;

const number = (table, key, write) => ({ value: (k) => valueAt(table[key], k), text: (k) => write(valueAt(table[key], k)), number: true, skip: !table[key] });

const columnsOf = (table) => {
  const name = (list, key) => ({ value: (k) => list[table[key][k]], text: (k) => spaced(list[table[key][k]]) });
  const prevalence = (c) => ({ value: (k) => valueAt(table.prevalence[c].p, k), text: (k) => percent(valueAt(table.prevalence[c].p, k)), number: true });
  const compared = table.conditions.length > 1;
  const last = table.prevalence.length - 1;
  const several = (key) => new Set(table[key]).size > 1;
  return [
    { id: "role", title: "Role", ...name(vocabulary.roles, "r"), skip: !several("r"), wide: true },
    { id: "dimension", title: "Dimension", ...name(vocabulary.dimensions, "d"), wide: true },
    { id: "label", title: "Label", value: (k) => vocabulary.labels[table.l[k]], text: (k) => spaced(vocabulary.labels[table.l[k]]), opens: true },
    { id: "generator", title: "Generator", ...name(vocabulary.generators, "g"), skip: !several("g") },
    ...table.conditions.map((condition, c) => ({ id: `p${c}`, title: compared ? vocabulary.conditions[condition] : "Share", hint: compared ? vocabulary.conditionWords[vocabulary.conditions[condition]] : null, wide: true, ...prevalence(c) })),
    { id: "interval", title: `${vocabulary.level} interval`, skip: compared, text: (k) => between(table.prevalence[0], k), number: true },
    { id: "trend", title: "Trend", skip: !compared, draws: true },
    { id: "range", title: "Range", hint: "in percentage points; in brackets, the range that chance alone gives", ...number(table, "range", (v) => fixed(v, 1)), text: (k) => ranged(table, k) },
    { id: "ccs", title: "CCS", ...number(table, "ccs", (v) => fixed(v, 1)) },
    { id: "p", title: "p", hint: "of chi-squared, images taken as independent", ...number(table, "p", pValue) },
    { id: "clustered", title: "p, contexts", hint: "allows for pictures of one context being alike", ...number(table, "clustered", pValue) },
    ...(vocabulary.strict && table.clusteredQ
      ? [{ id: "q", title: "q", hint: "of p, contexts; the verdict rests on it", ...number(table, "clusteredQ", pValue) }]
      : [{ id: "q", title: "q", ...number(table, "q", pValue) }]),
    { id: "paper", title: "Paper’s rule", skip: !compared, value: (k) => table.paper[k], text: (k) => ({ true: "invariant", false: "not" }[table.paper[k]] ?? DASH) },
    { id: "verdict", title: "Verdict", skip: !compared, value: (k) => table.verdict[k], text: (k) => table.verdict[k] ?? DASH, pill: true, wide: true },
    { id: "n", title: "n", hint: "images read, all conditions", number: true, value: (k) => support(table, last, k), text: (k) => String(support(table, last, k) ?? DASH) },
  ].filter((column) => !column.skip);
};

const support = (table, last, k) => table.prevalence[last].n[k] ?? table.prevalence[0].n[k];
const between = (numbers, k) => (valueAt(numbers.low, k) === null ? DASH : `${fixed(100 * numbers.low[k], 1)}–${fixed(100 * numbers.high[k], 1)}`);

const ranged = (table, k) => {
  const chance = valueAt(table.chance, k);
  return fixed(valueAt(table.range, k), 1) + (chance === null ? "" : ` (${fixed(chance, 1)})`);
};

const trend = (table, k) => {
  const svg = drawn("svg", { class: "trend", width: 50, height: 22, viewBox: "0 0 50 22", "aria-hidden": "true" });
  svg.style.setProperty("--dot", `var(--${vocabulary.cohorts[table.d[k]] || "ink"})`);
  for (const y of [2, 20]) svg.append(drawn("line", { x1: 2, x2: 48, y1: y, y2: y }));
  const points = table.conditions
    .map((_, c) => [6 + (c * 38) / (table.conditions.length - 1), valueAt(table.prevalence[c].p, k)])
    .filter(([, p]) => p !== null)
    .map(([x, p]) => [x, 20 - 18 * p]);
  svg.append(drawn("path", { d: points.map(([x, y], n) => `${n ? "L" : "M"}${x},${y}`).join("") }));
  for (const [x, y] of points) svg.append(drawn("circle", { cx: x, cy: y, r: 2.4 }));
  return svg;
};

const ordered = (rows, column, descending) => {
  const sign = descending ? -1 : 1;
  const rank = new Map(rows.map((k) => [k, column.value(k)]));
  return rows.sort((a, b) => {
    const [x, y] = [rank.get(a), rank.get(b)];
    if (x === null || x === undefined) return y === null || y === undefined ? a - b : 1;
    if (y === null || y === undefined) return -1;
    const order = typeof x === "number" ? x - y : x.localeCompare(y);
    return order * sign || a - b;
  });
};

const associations = (box, reader) => {
  const table = load(`${reader}-table`);
  const columns = columnsOf(table);
  const compared = table.conditions.length > 1;
  const state = { page: 0, sort: table.range ? "range" : "p0", descending: true, rows: [] };
  const filters = filterBar(reader, table, compared);
  const status = make("p", { role: "status", class: "soft", tabindex: "-1" });
  const everyCohort = make("button", { type: "button", class: "plain-button" }, "Show all cohorts");
  everyCohort.addEventListener("click", () => { filters.allCohorts(); refresh(false); status.focus(); });
  const body = make("tbody");
  const sorter = sortChoice(reader, columns, state, () => refresh(true));
  filters.element.append(sorter.element);
  const heads = columns.map((column) => head(column, state, () => refresh(true)));
  const pager = pagerBar((step) => { state.page += step; draw(); });

  const draw = () => {
    const from = state.page * PAGE_SIZE;
    body.replaceChildren(...state.rows.slice(from, from + PAGE_SIZE).map((k) => row(reader, table, columns, k)));
    const to = Math.min(from + PAGE_SIZE, state.rows.length);
    everyCohort.hidden = !filters.cohort();
    sorter.update();
    status.textContent = `${state.rows.length} of ${table.all} labels${state.rows.length ? `; rows ${from + 1} to ${to}` : ""}${filters.cohort() ? `; cohort ${filters.cohort()} only` : ""}`;
    const rest = table.g.length < table.all ? `; this page has the ${table.g.length} seen most, tables/associations.csv has all` : "";
    status.textContent += rest;
    pager.update(state.page, Math.ceil(state.rows.length / PAGE_SIZE));
    heads.forEach((element, c) => {
      if (columns[c].draws) return;
      element.setAttribute("aria-sort", columns[c].id !== state.sort ? "none" : state.descending ? "descending" : "ascending");
    });
  };
  const refresh = (resort) => {
    if (!resort) state.rows = table.g.map((_, k) => k).filter(filters.accepts);
    ordered(state.rows, columns.find((column) => column.id === state.sort), state.descending);
    state.page = 0;
    draw();
  };
  filters.element.addEventListener("input", () => refresh(false));
  const scroll = make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table of labels" });
  scroll.append(make("table", { class: "labels" }, make("thead", {}, make("tr", {}, ...heads)), body));
  box.replaceChildren(filters.element, make("div", { class: "found" }, status, everyCohort), scroll, pager.element);
  refresh(false);
};

// On a narrow screen some columns stand under the label; this sorts by them there.
const sortChoice = (reader, columns, state, sort) => {
  const options = columns.filter((column) => column.value && !column.draws);
  const select = make("select", { id: `${reader}-sort` }, ...options.map((column) => make("option", { value: column.id }, column.title)));
  select.addEventListener("change", (event) => {
    event.stopPropagation();
    state.sort = select.value;
    state.descending = Boolean(options.find((column) => column.id === state.sort).number);
    sort();
  });
  select.addEventListener("input", (event) => event.stopPropagation());
  const update = () => { select.value = state.sort; };
  return { element: make("div", { class: "narrow" }, make("label", { for: select.id }, "Sort by"), select), update };
};

const classOf = (column) => [column.number ? "num" : "", column.wide ? "wide-only" : ""].join(" ").trim() || null;

const head = (column, state, sort) => {
  if (column.draws || !column.value) return make("th", { scope: "col", class: classOf(column) }, make("span", { class: "head" }, column.title));
  const button = make("button", { type: "button", title: column.hint }, column.title);
  button.addEventListener("click", () => {
    state.descending = state.sort === column.id ? !state.descending : Boolean(column.number);
    state.sort = column.id;
    sort();
  });
  return make("th", { scope: "col", class: classOf(column), "aria-sort": "none" }, button);
};

const under = (table, columns, k) => {
  const text = (id) => columns.find((column) => column.id === id)?.text(k);
  const shares = columns.filter((column) => /^p\d/.test(column.id)).map((column) => `${column.title} ${column.text(k)}`);
  const lines = [[text("role"), text("dimension")], shares, [text("verdict")]].filter((line) => line.some(Boolean));
  return lines.map((line) => make("span", { class: "under" }, line.filter(Boolean).join(" · ")));
};

// A click anywhere in the row opens it; the label's button is the way by keyboard.
const row = (reader, table, columns, k) => {
  const button = make("button", { type: "button", class: "open" }, columns.find((column) => column.opens).text(k));
  const opened = (event) => {
    if (!button.contains(event.target) && String(getSelection())) return;
    button.focus({ preventScroll: true });
    drawer(reader, k);
  };
  return make("tr", { onclick: opened }, ...columns.map((column) => {
    if (column.draws) return make("td", {}, trend(table, k));
    const text = column.text(k);
    if (column.opens) return make("th", { scope: "row" }, button, ...under(table, columns, k));
    if (column.pill) return make("td", { class: classOf(column) }, make("span", { class: `pill ${table.verdict[k] ?? ""}` }, text));
    return make("td", { class: classOf(column) }, text);
  }));
};

const filterBar = (reader, table, compared) => {
  const element = make("form", { class: "filters" });
  element.addEventListener("submit", (event) => event.preventDefault());
  const pick = (title, options) => {
    const select = make("select", {}, make("option", { value: "" }, "all"), ...options.map(([value, text]) => make("option", { value }, text)));
    if (options.length > 1) element.append(make("label", {}, title, select));
    return select;
  };
  const from = (list, key) =>
    used(table[key]).map((v) => [v, spaced(list[v])]).sort((a, b) => a[1].localeCompare(b[1]));
  const search = make("input", { type: "search", placeholder: compared ? "e.g. nurse female" : "e.g. female", size: 18 });
  element.append(make("label", {}, "Search", search));
  const generator = pick("Generator", from(vocabulary.generators, "g"));
  const role = pick("Role", from(vocabulary.roles, "r"));
  const cohorts = [...new Set(table.d.map((d) => vocabulary.cohorts[d]))].sort();
  const cohort = pick("Cohort", cohorts.map((name) => [name, name]));
  const dimension = pick("Dimension", from(vocabulary.dimensions, "d"));
  const verdict = pick("Verdict", compared ? ["invariant", "inconclusive", "shifted"].map((v) => [v, v]) : []);
  const supported = make("input", { type: "checkbox" });
  supported.checked = compared;
  if (compared) element.append(make("label", { class: "check" }, supported, "supported only"));
  const equals = (select, value) => select.value === "" || String(value) === select.value;
  const accepts = (k) =>
    (!supported.checked || table.supported[k] === 1) &&
    equals(generator, table.g[k]) && equals(role, table.r[k]) && equals(dimension, table.d[k]) &&
    equals(cohort, vocabulary.cohorts[table.d[k]]) && equals(verdict, table.verdict[k]) &&
    matches(table, k, search.value.toLowerCase().split(/\s+/).filter(Boolean));
  // Labels about people first: they are the question, and background colours change most.
  const all = table.g.map((_, k) => k);
  cohort.value = "people";
  if (cohorts.length < 2 || !all.some(accepts)) cohort.value = "";
  return { element, accepts, cohort: () => cohort.value, allCohorts: () => { cohort.value = ""; } };
};

const matches = (table, k, words) => {
  if (!words.length) return true;
  const text = [
    vocabulary.roles[table.r[k]], spaced(vocabulary.dimensions[table.d[k]]),
    vocabulary.labels[table.l[k]], spaced(vocabulary.labels[table.l[k]]),
    vocabulary.generators[table.g[k]],
  ].join(" ").toLowerCase();
  return words.every((word) => text.includes(word));
};

const pagerBar = (turn) => {
  const back = make("button", { type: "button", onclick: () => turn(-1) }, "Previous");
  const next = make("button", { type: "button", onclick: () => turn(1) }, "Next");
  const place = make("span");
  const element = make("div", { class: "pager" }, back, place, next);
  const update = (page, pages) => {
    back.disabled = page <= 0;
    next.disabled = page >= pages - 1;
    place.textContent = pages ? `page ${page + 1} of ${pages}` : "nothing matches";
    element.hidden = pages === 1;
  };
  return { element, update };
};
