// Answers that wait for the server.
//
// An answer goes into localStorage first and is taken out when the server has it. So it survives a
// closed window, a reload and a server that is away. One entry an answer, so that two windows never
// write over each other's.
"use strict";

// Told to the other windows of this browser when somebody was removed: "study:annotator".
const REMOVED = "contextbias-removed";

class Waiting {
  static RETRY_MS = 3000;

  // `told` is called with what happens: (text, isWaiting), and `heard` with (answer, status, body)
  // for each answer that the server has taken or refused for good.
  constructor(study, annotator, told, heard) {
    this.who = `${study}:${annotator}`;
    this.prefix = `contextbias:${this.who}:`;
    this.told = told;
    this.heard = heard;
    this.memory = new Map();
    this.isOver = false; // removed, or the link works no more
    this.flushing = null;
    this.timer = null;
    try {
      localStorage.setItem("contextbias-test", "1");
      localStorage.removeItem("contextbias-test");
      this.storage = localStorage;
    } catch {
      this.storage = null; // a private window without storage
    }
    addEventListener("storage", (event) => {
      if (event.key === REMOVED && event.newValue === this.who) {
        this.isOver = true;
        this.clear();
        location.replace("/");
      } else if (event.newValue === null && event.key?.startsWith(this.prefix)) {
        this.memory.delete(event.key.slice(this.prefix.length)); // sent or deleted in another window
      }
    });
    addEventListener("online", () => this.flush());
  }

  keep(answer) {
    this.memory.set(answer.key, answer);
    try {
      this.storage?.setItem(this.prefix + answer.key, JSON.stringify(answer));
    } catch { /* full: it is still in memory */ }
  }

  drop(key) {
    this.memory.delete(key);
    this.storage?.removeItem(this.prefix + key);
  }

  clear() {
    for (const answer of this.all()) this.drop(answer.key);
  }

  // What waits, oldest first.
  all() {
    const found = new Map(this.memory);
    for (let i = 0; this.storage && i < this.storage.length; i += 1) {
      const name = this.storage.key(i);
      if (name.startsWith(this.prefix)) {
        try {
          found.set(name.slice(this.prefix.length), JSON.parse(this.storage.getItem(name)));
        } catch { /* not ours */ }
      }
    }
    return [...found.values()].sort((a, b) => a.given_at - b.given_at);
  }

  // Sends what waits; resolves to true when nothing waits any more.
  flush() {
    if (this.isOver) return Promise.resolve(false);
    this.flushing ??= this.#sendAll().finally(() => { this.flushing = null; });
    return this.flushing.then((isEmpty) => (isEmpty && this.all().length > 0 ? this.flush() : isEmpty));
  }

  async #sendAll() {
    clearTimeout(this.timer);
    for (const answer of this.all()) {
      this.told("storing …");
      const outcome = await this.#send(answer);
      if (outcome !== "done") {
        const number = this.all().length;
        this.told(`${number === 1 ? "1 answer is" : `${number} answers are`} kept on this device. ${outcome}`, true);
        if (!this.isOver) this.timer = setTimeout(() => this.flush(), Waiting.RETRY_MS);
        return false;
      }
    }
    this.told("stored");
    return true;
  }

  async #send(answer) {
    let response;
    let body;
    try {
      response = await fetch("/answers", {
        method: "POST",
        headers: { "content-type": "application/json", accept: "application/json" },
        // How long ago, since the clocks of two devices need not agree.
        body: JSON.stringify({ ...answer, age: Math.max(0, (Date.now() - answer.given_at) / 1000) }),
        keepalive: true,
      });
      body = await response.json();
    } catch {
      return "The server cannot be reached; trying again.";
    }
    if (response.status === 409) return "Another person's link was opened in this browser: open yours again.";
    if (response.status === 403) {
      this.isOver = true;
      return "You are signed out here, or your link does not work any more. Open it again, ask for a new one, or delete what is kept.";
    }
    if (!response.ok && response.status !== 422) return "The server has a fault; trying again.";
    this.drop(answer.key);
    this.heard(answer, response.status, body);
    return "done";
  }
}
