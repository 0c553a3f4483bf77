// Filters that limit an answer to a part of the book. The page has them, the widget does not.

import { make } from "./dom.js";

const NUMBERS = ["chapter", "hardware_tier"];

export class Filters {
  constructor(strings) {
    this.strings = strings;
    this.element = make("div", { class: "bw-filters", role: "group", "aria-label": strings.filters, hidden: true });
  }

  /** Shows a select for each filter with at least two values, as the reader has set it. `onchange` gets the set values. */
  offer({ modules = [], chapters = [], hardware_tiers: tiers = [], proficiency_levels: levels = [] } = {}, set = {}, onchange = () => {}) {
    const values = {
      module: modules.map(({ name, title }) => [name, title || name]),
      chapter: chapters.map((number) => [number, String(number)]),
      hardware_tier: tiers.slice(0, -1).map((tier) => [tier, String(tier)]),
      proficiency_level: levels.map((level) => [level, level]),
    };
    const offered = Object.entries(values).filter(([name, options]) => options.length > (name === "hardware_tier" ? 0 : 1));
    this.element.replaceChildren(...offered.map(([name, options]) => this.select(name, options, set[name], onchange)));
    this.element.hidden = !offered.length;
  }

  select(name, options, set, onchange) {
    const { all, one } = this.strings;
    const select = make("select", { name, class: "bw-pill", "aria-label": all[name] }, make("option", { value: "" }, all[name]),
      ...options.map(([value, label]) => make("option", { value }, `${one[name]}${label}`)));
    if (options.some(([value]) => value === set)) select.value = String(set);
    const mark = () => select.classList.toggle("bw-active", Boolean(select.value));
    select.addEventListener("change", () => { mark(); onchange(this.chosen()); });
    mark();
    return select;
  }

  /** The chosen values, as fields of the request. */
  chosen() {
    const selects = [...this.element.querySelectorAll("select")].filter((select) => select.value);
    return Object.fromEntries(selects.map(({ name, value }) => [name, NUMBERS.includes(name) ? Number(value) : value]));
  }
}
