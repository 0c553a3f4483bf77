// The box for the question: limit, send and stop.

import { icon, make } from "./dom.js";

export const QUESTION_MAX = 1000;
/** When a question without an answer leaves the box. Quotes are often here before: then one frame shows both, and drawing does not hold up the service. */
export const SHOWN_AFTER_MS = 50;
const COUNT_FROM = 800;
const SIZES_ITSELF = CSS.supports("field-sizing", "content");

export class Composer {
  constructor({ strings, store, filters, onsend, onstop }) {
    Object.assign(this, { strings, store, onsend, onstop, isBusy: false });
    this.input = make("textarea", { rows: "1", "aria-label": strings.question, placeholder: strings.placeholder, enterkeyhint: "send" });
    this.counter = make("p", { class: "bw-counter", hidden: true, "aria-live": "polite" });
    this.send = make("button", { type: "submit", class: "bw-button bw-primary bw-send", "aria-label": strings.send, title: strings.send }, icon("send"));
    this.element = make("form", { class: "bw-composer" }, filters?.element, make("div", { class: "bw-box" }, this.input, this.send), this.counter);
    this.element.addEventListener("submit", (event) => { event.preventDefault(); this.submit(); });
    this.input.addEventListener("beforeinput", () => this.empty());
    this.input.addEventListener("input", () => this.update());
    // A closed panel has no size to measure: then this is the first time.
    if (!SIZES_ITSELF) this.input.addEventListener("focus", () => this.fit());
    this.input.addEventListener("keydown", (event) => this.press(event));
  }

  /** Shows the draft for a book. What was typed before the first book is known stays. */
  useBook(book) {
    const typed = this.book ? "" : this.text;
    this.book = book;
    this.text = typed || this.store.draft(book);
  }

  /** What the reader has typed. A question that is sent still stands in the box for a moment: see SHOWN_AFTER_MS. */
  get text() { return this.isSent ? "" : this.input.value; }
  set text(text) {
    this.isSent = false;
    this.input.value = text;
    this.update();
  }

  /** Takes a question that is sent out of the box. */
  empty() {
    if (this.isSent) this.text = "";
  }

  /** Puts a question back into the box, unless the reader has begun another one. */
  offer(text) {
    if (!this.text.trim()) this.text = text;
  }

  update() {
    const length = Array.from(this.text.trim()).length;
    this.isTooLong = length > QUESTION_MAX;
    this.counter.hidden = length < COUNT_FROM;
    if (!this.counter.hidden) this.counter.textContent = (this.isTooLong ? this.strings.tooLong : this.strings.count)(length, QUESTION_MAX);
    this.counter.classList.toggle("bw-problem", this.isTooLong);
    this.enable();
    if (this.book) this.store.setDraft(this.book, this.text);
    // Measuring now would hold up a question that is being sent.
    if (!SIZES_ITSELF) requestAnimationFrame(() => this.fit());
  }

  /** The button also stops an answer, even if the next question is too long. */
  enable() { this.send.setAttribute("aria-disabled", String(this.isTooLong && !this.isBusy)); }

  fit() {
    this.input.style.height = "auto";
    const height = Math.min(this.input.scrollHeight, 200);
    if (height) this.input.style.height = `${height}px`;
  }

  press(event) {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      if (!this.isBusy) this.submit();
    }
    if (event.key === "ArrowUp" && !this.text && this.last) {
      event.preventDefault();
      this.text = this.last;
    }
  }

  submit() {
    if (this.isBusy) return this.onstop();
    const text = this.text.trim();
    if (!text || this.isTooLong) return;
    this.last = text;
    this.isSent = true;
    this.onsend(text);
  }

  setBusy(isBusy) {
    this.isBusy = isBusy;
    clearTimeout(this.timer);
    if (isBusy) this.timer = setTimeout(() => this.showButton(), SHOWN_AFTER_MS);
    else this.showButton();
  }

  showButton() {
    const { isBusy } = this;
    this.empty();
    const label = isBusy ? this.strings.stop : this.strings.send;
    this.send.setAttribute("aria-label", label);
    this.send.setAttribute("title", label);
    this.send.replaceChildren(icon(isBusy ? "stop" : "send"));
    this.send.firstChild.classList.toggle("bw-solid", isBusy);
    this.enable();
  }
}
