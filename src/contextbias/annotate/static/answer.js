// One item: its questions one by one, every answer stored at once (waiting.js).
"use strict";

(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const at = (id) => document.getElementById(id);
  const isSet = data.kind === "set";
  const isNarrow = matchMedia("(max-width: 62rem)");
  const isTouch = matchMedia("(pointer: coarse)").matches;
  const NOTE = `contextbias-note:${data.study}:${data.annotator}`;
  const KEYS_OFF = "contextbias-keys-off";

  const waiting = new Waiting(data.study, data.annotator, say, heard);

  // ---- state

  const answers = { ...data.answers }; // dimension -> {labels, reason, count, version, feedback}
  for (const one of waiting.all()) {
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
  let leaving = null; // where to, while the server is away

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

  function say(text, isWaiting = false) {
    at("status").textContent = text;
    at("status").classList.toggle("waiting", isWaiting);
    at("delete").hidden = !(waiting.isOver && waiting.all().length > 0);
  }

  function complain(text) { at("message").textContent = text; }

  // The address says whose feedback is on the screen, so that it is still there after a reload.
  function remember(dimension) {
    const hash = dimension === null ? "" : `#${dimension}`;
    if (location.hash !== hash) history.replaceState(null, "", location.pathname + hash);
  }

  function show(next, focus = true) {
    index = next;
    remember(null);
    leaving = null;
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
      (asked.is_open && !before && !isTouch ? at("phrase") : at("question")).focus({ preventScroll: true });
    }
    // The question is read first, right below the pictures where these stay on top.
    at("form").scrollTop = 0;
    if (at("question").getBoundingClientRect().top < at("pictures").getBoundingClientRect().bottom && isNarrow.matches) {
      at("form").scrollIntoView();
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
    const keys = asked.several ? "Enter adds what you have typed; Enter in the empty field stores." : "Esc leaves the field.";
    at("typed-help").textContent = [asked.several ? "" : "What most of them show.", isTouch ? "" : keys].join(" ").trim();
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
    if (!byKey) return;
    at("list").querySelector("input:checked")?.parentElement.scrollIntoView({ block: "nearest" });
    if (isSet && !one.is_reason) at("slider").focus({ preventScroll: true });
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
      const isThere = chosen.some((other) => other.toLowerCase() === word.toLowerCase());
      if (!isThere && chosen.length < 20) chosen.push(word);
    }
    reason = null;
    dirty = true;
    at("phrase").value = "";
    paint();
  }

  // As the server compares: small letters, without signs.
  const plain = (word) => word.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, " ").trim();

  function fault() {
    const named = question().is_open ? chosen.find((word) => question().reserved.includes(plain(word))) : undefined;
    if (named !== undefined) return `"${named}" is in the list below: choose it there.`;
    const signs = question().is_open ? chosen.find((word) => !/\p{L}/u.test(word)) : undefined;
    if (signs !== undefined) return `"${signs}" has no letter: say it in words${question().several ? ", or take it away" : ""}.`;
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
    waiting.keep(answer);
    return waiting.flush();
  }

  // Whatever happens next, an answer that is whole is not lost.
  function settle() {
    if (question().is_open && question().several && phrase()) addPhrase();
    if (dirty && fault() === null) store();
  }

  // The server has taken an answer, or refused it for good.
  function heard(answer, status, body) {
    const isHere = answer.position === data.position;
    if (status === 422) {
      if (isHere && answers[answer.dimension]?.key === answer.key) {
        delete answers[answer.dimension];
        at("progress").value -= 1;
      }
      note(`The server did not take an answer: ${body.error}`);
      return;
    }
    if (isHere && answers[answer.dimension]?.key === answer.key) {
      const now = body.instead ?? { ...answers[answer.dimension], feedback: body.feedback };
      answers[answer.dimension] = { ...now, version: body.version };
      if (body.instead && question().dimension === answer.dimension && !dirty && !shownFeedback) show(index, false);
    }
    if (!body.conflict) return;
    const where = isHere ? "This" : "A question about an earlier item";
    note(`${where} was answered in another window or on another device, too. Both answers are kept; `
      + `the one that was given last counts${body.instead ? ": the other one" : ""}.`);
  }

  // Said here, and again on the next page when this one is being left.
  function note(text) {
    complain(text);
    if (leaving === null) return;
    try { sessionStorage.setItem(NOTE, text); } catch { /* said here only */ }
  }

  // Another window may have answered meanwhile.
  async function refresh() {
    waiting.flush();
    try {
      const response = await fetch(`/item/${data.position}/answers?i=${data.seal}`, { headers: { accept: "application/json" } });
      if (!response.ok) return;
      const found = await response.json();
      const pending = new Set(waiting.all().filter((a) => a.position === data.position).map((a) => a.dimension));
      for (const [dimension, answer] of Object.entries(found)) {
        if (pending.has(dimension) || (answers[dimension]?.version ?? 0) >= answer.version) continue;
        if (!answered(dimension)) at("progress").value += 1;
        answers[dimension] = answer;
        if (dimension === question().dimension && !dirty && !shownFeedback) show(index, false);
      }
    } catch { /* away; the next time */ }
  }

  // ---- move

  let isSaving = false; // while what is known is on its way: a second Enter does nothing

  async function save() {
    if (isSaving) return undefined;
    if (shownFeedback) return forward();
    if (question().is_open && question().several && phrase()) addPhrase();
    const wrong = fault();
    if (wrong !== null) {
      complain(wrong);
      if (isSet && reason === null && chosen.length > 0 && count === null) at("slider").focus({ preventScroll: true });
      return undefined;
    }
    const asked = question();
    const isChanged = dirty || !answered(asked.dimension);
    const stored = isChanged ? store() : Promise.resolve(true);
    return data.training && isChanged ? practise(asked, stored) : forward();
  }

  // What is known about a question of practice, as soon as its answer is stored.
  async function practise(asked, stored) {
    remember(asked.dimension);
    isSaving = true;
    at("save").setAttribute("aria-disabled", "true");
    await stored;
    isSaving = false;
    at("save").removeAttribute("aria-disabled");
    // Gone back or on meanwhile: the feedback is shown when the question is.
    return question() === asked && !dirty ? showFeedback(answers[asked.dimension]?.feedback, true) : undefined;
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

  function skip() {
    settle();
    return index + 1 < questions.length ? show(index + 1) : leave(`/next?after=${data.position}`);
  }

  function back() {
    settle();
    if (index > 0) return show(index - 1);
    return data.before === null ? undefined : leave(`/item/${data.before}#last`);
  }

  // The next page comes from the server: wait until it has everything.
  async function leave(where) {
    leaving = where;
    while (leaving === where && !waiting.isOver) {
      if (await waiting.flush()) {
        try {
          const response = await fetch("/health");
          if (response.ok && leaving === where) {
            location.href = where;
            return;
          }
        } catch { /* still away */ }
        say("The server cannot be reached; everything is stored, going on when it is back.", true);
      }
      await new Promise((done) => { setTimeout(done, Waiting.RETRY_MS / 2); });
    }
  }

  // ---- zoom

  let zoomed = 0;
  function zoom(place) {
    zoomed = (place + data.pictures) % data.pictures;
    const name = `Picture ${zoomed + 1} of ${data.pictures}`;
    at("zoom-picture").src = `/picture/${data.position}/${zoomed}/large?i=${data.seals[zoomed]}`;
    at("zoom-picture").alt = name;
    at("zoom-name").textContent = name;
    if (at("zoom").open) return;
    at("zoom").showModal();
    at("zoom-close").focus();
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
    else if (isSet && chosen.length > 0 && count === null) at("slider").focus({ preventScroll: true });
    else save();
    return true;
  }

  function keysOff() {
    try { return localStorage.getItem(KEYS_OFF) === "1"; } catch { return false; }
  }

  function pageKey(event) {
    if (event.key.length === 1 && at("keys-off").checked) return false;
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

  for (const link of document.querySelectorAll("a[href]")) {
    link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
      settle();
      if (waiting.all().length === 0 || waiting.isOver) return;
      event.preventDefault();
      leave(link.getAttribute("href"));
    });
  }
  addEventListener("pagehide", () => { if (!waiting.isOver) settle(); });
  at("delete").addEventListener("click", () => {
    waiting.clear();
    location.replace("/");
  });
  at("keys-off").checked = keysOff();
  at("keys-off").addEventListener("change", () => {
    try {
      if (at("keys-off").checked) localStorage.setItem(KEYS_OFF, "1");
      else localStorage.removeItem(KEYS_OFF);
    } catch { /* not kept */ }
  });
  const first = questions.findIndex((asked) => !answered(asked.dimension));
  const practised = data.training
    ? questions.findIndex((asked) => location.hash === `#${asked.dimension}` && answered(asked.dimension)) : -1;
  if (practised >= 0) show(practised);
  else show(location.hash === "#last" ? questions.length - 1 : Math.max(first, 0));
  const sent = waiting.all().length > 0 ? waiting.flush() : Promise.resolve(true);
  if (practised >= 0) practise(question(), sent);
  try {
    complain(sessionStorage.getItem(NOTE) ?? "");
    sessionStorage.removeItem(NOTE);
  } catch { /* nothing was kept */ }
  document.documentElement.dataset.ready = "1";
})();
