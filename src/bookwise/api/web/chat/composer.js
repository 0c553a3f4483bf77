// The box for the question: limit, filters, send and stop.

import { icon, make } from "./dom.js";

export const QUESTION_MAX = 1000;
const COUNT_FROM = 800;

export class Composer {
  constructor({ strings, store, onsend, onstop }) {
    Object.assign(this, { strings, store, onsend, onstop, isBusy: false });
    this.input = make("textarea", { rows: "1", "aria-label": strings.question, placeholder: strings.placeholder, enterkeyhint: "send" });
    this.counter = make("p", { class: "bw-counter", hidden: true, "aria-live": "polite" });
    this.send = make("button", { type: "submit", class: "bw-button bw-primary bw-send", "aria-label": strings.send, title: strings.send }, icon("send"));
    this.filters = make("div", { class: "bw-filters", role: "group", "aria-label": strings.filters, hidden: true });
    this.element = make("form", { class: "bw-composer" }, this.filters, make("div", { class: "bw-box" }, this.input, this.send), this.counter);
    this.element.addEventListener("submit", (event) => { event.preventDefault(); this.submit(); });
    this.input.addEventListener("input", () => this.update());
    this.input.addEventListener("keydown", (event) => this.press(event));
    this.text = store.draft;
  }

  get text() { return this.input.value; }
  set text(text) {
    this.input.value = text;
    this.update();
  }

  /** Puts a question back into the box, unless the reader has begun another one. */
  offer(text) {
    if (!this.text.trim()) this.text = text;
  }

  update() {
    const length = Array.from(this.text.trim()).length;
    this.isTooLong = length > QUESTION_MAX;
    this.counter.hidden = length < COUNT_FROM;
    this.counter.textContent = (this.isTooLong ? this.strings.tooLong : this.strings.count)(length, QUESTION_MAX);
    this.counter.classList.toggle("bw-problem", this.isTooLong);
    this.send.setAttribute("aria-disabled", String(this.isTooLong && !this.isBusy));
    this.store.draft = this.text;
    if (!this.input.isConnected) return;
    this.input.style.height = "auto";
    this.input.style.height = `${Math.min(this.input.scrollHeight, 200)}px`;
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
    this.text = "";
    this.onsend(text);
  }

  setBusy(isBusy) {
    this.isBusy = isBusy;
    const label = isBusy ? this.strings.stop : this.strings.send;
    this.send.setAttribute("aria-label", label);
    this.send.setAttribute("title", label);
    this.send.replaceChildren(icon(isBusy ? "stop" : "send"));
    this.update();
  }

  /** Shows a select for each filter with at least two values. */
  offerFilters({ modules = [], chapters = [], hardware_tiers: tiers = [], proficiency_levels: levels = [] } = {}) {
    const values = {
      module: modules.map(({ name, title }) => [name, title || name]),
      chapter: chapters.map((number) => [number, String(number)]),
      hardware_tier: tiers.slice(0, -1).map((tier) => [tier, String(tier)]),
      proficiency_level: levels.map((level) => [level, level]),
    };
    const selects = Object.entries(values).filter(([name, options]) => options.length > (name === "hardware_tier" ? 0 : 1));
    this.filters.replaceChildren(...selects.map(([name, options]) => this.filter(name, options)));
    this.filters.hidden = !selects.length;
  }

  filter(name, options) {
    const { all, one } = this.strings;
    const select = make("select", { name, class: "bw-pill", "aria-label": all[name] }, make("option", { value: "" }, all[name]),
      ...options.map(([value, label]) => make("option", { value }, `${one[name]}${label}`)));
    select.addEventListener("change", () => select.classList.toggle("bw-active", Boolean(select.value)));
    return select;
  }

  /** The chosen values, as fields of the request. */
  chosen() {
    const selects = [...this.filters.querySelectorAll("select")].filter((select) => select.value);
    return Object.fromEntries(selects.map(({ name, value }) => [name, ["chapter", "hardware_tier"].includes(name) ? Number(value) : value]));
  }
}
