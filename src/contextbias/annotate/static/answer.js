// One item: its questions one by one, every answer stored at once.
//
// An answer goes into localStorage first and is taken out when the server has it. So it survives a
// closed window, a reload and a server that is away. One entry an answer, so that two windows never
// write over each other's.
"use strict";

(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const at = (id) => document.getElementById(id);
  const isSet = data.kind === "set";
  const prefix = `contextbias:${data.study}:${data.annotator}:`;
  const RETRY_MS = 3000;

  // ---- what waits for the server

  const memory = new Map();
  const storage = (() => {
    try {
      localStorage.setItem("contextbias-test", "1");
      localStorage.removeItem("contextbias-test");
      return localStorage;
    } catch {
      return null; // a private window without storage
    }
  })();

  const keep = (answer) => {
    memory.set(answer.key, answer);
    try {
      storage?.setItem(prefix + answer.key, JSON.stringify(answer));
    } catch { /* full: it is still in memory */ }
  };

  const drop = (key) => {
    memory.delete(key);
    storage?.removeItem(prefix + key);
  };

  const waiting = () => {
    const found = new Map(memory);
    for (let i = 0; storage && i < storage.length; i += 1) {
      const name = storage.key(i);
      if (name.startsWith(prefix)) {
        try {
          found.set(name.slice(prefix.length), JSON.parse(storage.getItem(name)));
        } catch { /* not ours */ }
      }
    }
    return [...found.values()].sort((a, b) => a.given_at - b.given_at);
  };

  // ---- state

  const answers = { ...data.answers }; // dimension -> {labels, reason, count, version, feedback}
  for (const one of waiting()) {
    if (one.position === data.position) {
      const before = answers[one.dimension]?.version ?? 0;
      answers[one.dimension] = { ...one, version: Math.max(before, one.based_on + 1) };
    }
  }
  const questions = data.questions;
  let index = 0;
  let chosen = []; // typed words, or values of the vocabulary
  let reason = null;
  let count = null;
  let dirty = false;
  let shownFeedback = false;
  let seconds = 0;
  let since = performance.now();

  const question = () => questions[index];
  const answered = (dimension) => answers[dimension] !== undefined;

  // ---- time on the question, while the page is visible

  const tick = () => {
    const now = performance.now();
    if (since !== null) seconds += (now - since) / 1000;
    since = document.hidden ? null : now;
  };

  document.addEventListener("visibilitychange", () => {
    tick();
    if (!document.hidden) refresh();
  });

  // ---- show

  const element = (name, attributes = {}, ...children) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  };

  const say = (text, isWaiting = false) => {
    at("status").textContent = text;
    at("status").classList.toggle("waiting", isWaiting);
  };

  const complain = (text) => { at("message").textContent = text; };

  function show(next, focus = true) {
    index = next;
    const asked = question();
    const before = answers[asked.dimension];
    chosen = before ? [...before.labels] : [];
    reason = before ? before.reason : null;
    count = before ? before.count : null;
    dirty = false;
    shownFeedback = false;
    seconds = 0;
    since = document.hidden ? null : performance.now();
    at("number").textContent = String(index + 1);
    at("question").textContent = asked.text;
    at("hint").textContent = asked.hint;
    at("legend").textContent = asked.several ? "Choose all that apply" : "Choose one";
    complain("");
    at("list").replaceChildren(...asked.choices.map(choice));
    at("typed").hidden = !asked.is_open;
    if (asked.is_open) showTyped(asked);
    at("back").disabled = index === 0 && data.before === null;
    paint();
    showFeedback(before?.feedback);
    if (focus) {
      // On a touch screen a focused field opens the keyboard over the pictures.
      const touch = matchMedia("(pointer: coarse)").matches;
      (asked.is_open && !before && !touch ? at("phrase") : at("question")).focus({ preventScroll: touch });
    }
  }

  function choice(one) {
    const asked = question();
    const several = asked.several && !one.is_reason;
    const input = element("input", {
      type: several ? "checkbox" : "radio", name: several ? "labels" : "answer", value: one.value,
    });
    input.dataset.reason = one.is_reason ? "1" : "";
    input.addEventListener("change", () => choose(one, false));
    const label = element("label", { class: one.is_reason ? "choice reason" : "choice" },
      input, element("span", {}, one.text), element("kbd", { "aria-hidden": "true" }, one.key.toUpperCase()));
    return label;
  }

  function showTyped(asked) {
    at("phrase").value = asked.several ? "" : (chosen[0] ?? "");
    at("add").hidden = !asked.several;
    at("typed-help").textContent = asked.several
      ? "Enter adds what you have typed; Enter in the empty field stores."
      : "What most of them show. Esc leaves the field.";
    at("words").replaceChildren(...asked.suggestions.map((word) => element("option", { value: word })));
  }

  function paint() {
    const asked = question();
    for (const input of at("list").querySelectorAll("input")) {
      input.checked = input.dataset.reason ? reason === input.value : chosen.includes(input.value);
    }
    at("chips").replaceChildren(...(asked.is_open && asked.several ? chosen : []).map((word) => {
      const button = element("button", { type: "button", "aria-label": `Take away ${word}` }, `${word} ×`);
      button.addEventListener("click", () => {
        chosen = chosen.filter((other) => other !== word);
        dirty = true;
        paint();
      });
      return element("li", {}, button);
    }));
    at("count").hidden = !isSet || reason !== null || chosen.length === 0;
    at("slider").value = String(count ?? 0);
    at("slider").classList.toggle("unset", count === null);
    at("slider").setAttribute("aria-valuetext", count === null ? "not chosen yet" : `${count} of ${data.pictures}`);
    at("shown").textContent = count === null ? "–" : String(count);
  }

  // ---- choose

  function choose(one, byKey) {
    const asked = question();
    complain("");
    dirty = true;
    if (one.is_reason) {
      reason = one.value;
      chosen = [];
      count = null;
      if (asked.is_open) at("phrase").value = "";
    } else if (asked.several) {
      reason = null;
      const without = chosen.filter((value) => value !== one.value);
      chosen = without.length < chosen.length ? without : [...chosen, one.value];
      // "none" stands alone.
      if (one.value === "none") chosen = chosen.includes("none") ? ["none"] : [];
      else chosen = chosen.filter((value) => value !== "none");
    } else {
      reason = null;
      chosen = [one.value];
    }
    paint();
    if (byKey && isSet && !one.is_reason) at("slider").focus();
  }

  function setCount(value) {
    count = Math.max(0, Math.min(data.pictures, value));
    dirty = true;
    complain("");
    paint();
  }

  const phrase = () => at("phrase").value.split(/\s+/).filter(Boolean).join(" ").replaceAll("|", "/");

  function typed() {
    const asked = question();
    if (asked.several) return;
    const text = phrase();
    chosen = text ? [text] : [];
    if (text) reason = null;
    dirty = true;
    paint();
  }

  function addPhrase() {
    for (const word of phrase().split(",").map((text) => text.trim()).filter(Boolean)) {
      if (!chosen.includes(word) && chosen.length < 20) chosen.push(word);
    }
    reason = null;
    dirty = true;
    at("phrase").value = "";
    paint();
  }

  function fault() {
    if (reason === null && chosen.length === 0) return "Choose an answer first, or skip.";
    if (isSet && reason === null && count === null) return `In how many of the ${data.pictures} pictures?`;
    return null;
  }

  // ---- store

  function newKey() {
    if (crypto.randomUUID) return crypto.randomUUID();
    // Only pages over https or on this machine have it.
    return Array.from(crypto.getRandomValues(new Uint32Array(4)), (n) => n.toString(16)).join("-");
  }

  function store() {
    tick();
    const asked = question();
    const isNew = !answered(asked.dimension);
    const answer = {
      study: data.study,
      annotator: data.annotator,
      position: data.position,
      dimension: asked.dimension,
      labels: reason === null ? [...chosen] : [],
      reason,
      count: isSet && reason === null ? count : null,
      seconds: Math.round(seconds * 1000) / 1000,
      based_on: answers[asked.dimension]?.version ?? 0,
      key: newKey(),
      given_at: Date.now(),
    };
    answers[asked.dimension] = { ...answer, version: answer.based_on + 1 };
    if (isNew) at("progress").value += 1;
    dirty = false;
    keep(answer);
    return flush();
  }

  let flushing = null;
  let timer = null;

  // Sends what waits, oldest first; resolves to true when nothing waits any more.
  function flush() {
    flushing ??= sendAll().finally(() => { flushing = null; });
    return flushing.then((isEmpty) => (isEmpty && waiting().length > 0 ? flush() : isEmpty));
  }

  async function sendAll() {
    clearTimeout(timer);
    for (const answer of waiting()) {
      say("storing …");
      const outcome = await send(answer);
      if (outcome !== "done") {
        const number = waiting().length;
        say(`${number === 1 ? "1 answer is" : `${number} answers are`} kept on this device. ${outcome}`, true);
        timer = setTimeout(flush, RETRY_MS);
        return false;
      }
    }
    say("stored");
    return true;
  }

  async function send(answer) {
    let response;
    let body;
    try {
      response = await fetch("/answers", {
        method: "POST",
        headers: { "content-type": "application/json", accept: "application/json" },
        body: JSON.stringify(answer),
        keepalive: true,
      });
      body = await response.json();
    } catch {
      return "The server cannot be reached; trying again.";
    }
    if (response.status === 409) return "Another person's link was opened in this browser: open yours again.";
    if (response.status === 403) return "Your link does not work any more.";
    if (response.status === 422) {
      drop(answer.key);
      if (answer.position === data.position) delete answers[answer.dimension];
      complain(`The server did not take an answer: ${body.error}`);
      return "done";
    }
    if (!response.ok) return "The server has a fault; trying again.";
    drop(answer.key);
    if (answer.position === data.position) {
      const mine = answers[answer.dimension];
      if (mine?.key === answer.key) {
        answers[answer.dimension] = { ...mine, version: body.version, feedback: body.feedback };
      }
      if (body.conflict) complain("This was answered in another window, too. Both answers are kept; the newest counts.");
    }
    return "done";
  }

  // Another window may have answered meanwhile.
  async function refresh() {
    flush();
    try {
      const response = await fetch(`/item/${data.position}/answers`, { headers: { accept: "application/json" } });
      if (!response.ok) return;
      const found = await response.json();
      const pending = new Set(waiting().filter((a) => a.position === data.position).map((a) => a.dimension));
      for (const [dimension, answer] of Object.entries(found)) {
        if (pending.has(dimension) || (answers[dimension]?.version ?? 0) >= answer.version) continue;
        if (!answered(dimension)) at("progress").value += 1;
        answers[dimension] = answer;
        if (dimension === question().dimension && !dirty && !shownFeedback) show(index, false);
      }
    } catch { /* away; the next time */ }
  }

  // ---- move

  async function save() {
    if (shownFeedback) return forward();
    if (question().is_open && question().several && phrase()) addPhrase();
    const wrong = fault();
    if (wrong !== null) {
      complain(wrong);
      if (isSet && reason === null && chosen.length > 0) at("slider").focus();
      return undefined;
    }
    const asked = question();
    const isChanged = dirty || !answered(asked.dimension);
    const stored = isChanged ? store() : Promise.resolve(true);
    if (data.training && isChanged) {
      await stored;
      return showFeedback(answers[asked.dimension]?.feedback, true);
    }
    return forward();
  }

  function showFeedback(feedback, isNew = false) {
    const box = at("feedback");
    box.hidden = !feedback;
    at("save-text").textContent = isNew ? "Next" : "Store, next";
    if (isNew) shownFeedback = true;
    if (!feedback) return isNew ? forward() : undefined;
    box.className = feedback.known ? (feedback.right ? "right" : "wrong") : "";
    if (!feedback.known) box.textContent = "Nothing is known about this one.";
    else {
      const number = feedback.count === null ? "" : `, in ${feedback.count} of ${data.pictures}`;
      const known = `${feedback.labels.join(", or ")}${number}`;
      box.textContent = feedback.right ? `Right: ${known}.` : `Known here: ${known}.`;
    }
    if (isNew) at("save").focus({ preventScroll: true });
    return undefined;
  }

  function forward() {
    const open = questions.findIndex((asked, i) => i > index && !answered(asked.dimension));
    if (index + 1 < questions.length) return show(open > 0 && !answered(questions[index + 1].dimension) ? open : index + 1);
    return leave(`/next?after=${data.position}`);
  }

  function skip() { return index + 1 < questions.length ? show(index + 1) : leave(`/next?after=${data.position}`); }

  function back() {
    if (dirty && fault() === null) store();
    if (index > 0) return show(index - 1);
    return data.before === null ? undefined : leave(`/item/${data.before}#last`);
  }

  let leaving = null;

  // The next page comes from the server: wait until it has everything.
  async function leave(where) {
    leaving = where;
    while (leaving === where) {
      if (await flush()) {
        try {
          const response = await fetch("/health");
          if (response.ok) {
            location.href = where;
            return;
          }
        } catch { /* still away */ }
        say("The server cannot be reached; everything is stored, going on when it is back.", true);
      }
      await new Promise((done) => { setTimeout(done, RETRY_MS / 2); });
    }
  }

  // ---- zoom

  let zoomed = 0;
  function zoom(place) {
    zoomed = (place + data.pictures) % data.pictures;
    const name = `Picture ${zoomed + 1} of ${data.pictures}`;
    at("zoom-picture").src = `/picture/${data.position}/${zoomed}/large`;
    at("zoom-picture").alt = name;
    at("zoom-name").textContent = name;
    if (!at("zoom").open) at("zoom").showModal();
  }
  const full = () => {
    const is = at("zoom-picture").classList.toggle("full");
    at("zoom-full").setAttribute("aria-pressed", String(is));
  };
  for (const button of document.querySelectorAll(".picture")) {
    button.addEventListener("click", () => zoom(Number(button.dataset.place)));
  }
  at("zoom-before").addEventListener("click", () => zoom(zoomed - 1));
  at("zoom-after").addEventListener("click", () => zoom(zoomed + 1));
  at("zoom-before").hidden = data.pictures < 2;
  at("zoom-after").hidden = data.pictures < 2;
  at("zoom-full").addEventListener("click", full);
  at("zoom-picture").addEventListener("click", full);
  at("zoom-close").addEventListener("click", () => at("zoom").close());

  // ---- keys and buttons

  at("ask-help").addEventListener("click", () => at("help").showModal());
  at("help-close").addEventListener("click", () => at("help").close());
  at("back").addEventListener("click", back);
  at("skip").addEventListener("click", skip);
  at("add").addEventListener("click", () => { addPhrase(); at("phrase").focus(); });
  at("form").addEventListener("submit", (event) => { event.preventDefault(); save(); });
  at("phrase").addEventListener("input", typed);
  at("slider").addEventListener("input", () => setCount(Number(at("slider").value)));
  // A click on the place where the handle stands already is a choice, too.
  at("slider").addEventListener("click", () => setCount(Number(at("slider").value)));

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (at("help").open) return;
    if (at("zoom").open) return zoomKey(event);
    const took = event.target === at("phrase") ? phraseKey(event) : pageKey(event);
    if (took) event.preventDefault();
    return undefined;
  });

  function zoomKey(event) {
    if (event.key === "ArrowLeft" && data.pictures > 1) zoom(zoomed - 1);
    else if (event.key === "ArrowRight" && data.pictures > 1) zoom(zoomed + 1);
    else if (event.key.toLowerCase() === "z") at("zoom").close();
    else return undefined;
    event.preventDefault();
    return undefined;
  }

  function phraseKey(event) {
    if (event.key === "Escape") at("question").focus();
    else if (event.key !== "Enter") return false;
    else if (question().several && phrase()) addPhrase();
    else if (isSet && chosen.length > 0 && count === null) at("slider").focus();
    else save();
    return true;
  }

  function pageKey(event) {
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const onSlider = event.target === at("slider");
    if (onSlider && /^[0-9]$/.test(key)) setCount(Number(key));
    else if (onSlider && key === "t") setCount(data.pictures);
    else if (key === "Escape") at("question").focus();
    else if (key === "?") at("help").showModal();
    else if (key === "z") zoom(event.target.classList?.contains("picture") ? Number(event.target.dataset.place) : 0);
    else if (key === "b" || key === "Backspace") back();
    else if (key === "s") skip();
    else if (key === "Enter" && !event.target.closest?.("a, button")) save();
    else {
      const one = question().choices.find((c) => c.key === key);
      if (one === undefined) return false;
      choose(one, true);
    }
    return true;
  }

  window.addEventListener("online", flush);
  const first = questions.findIndex((asked) => !answered(asked.dimension));
  show(location.hash === "#last" ? questions.length - 1 : Math.max(first, 0));
  if (waiting().length > 0) flush();
  document.documentElement.dataset.ready = "1";
})();
