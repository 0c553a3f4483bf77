// One exchange: a question, and its answer while it is written and when it is complete.

import { button, copyText, icon, make, moveWithArrows } from "./dom.js";
import { feedback } from "./feedback.js";
import { replaceFrom } from "./html.js";
import { placeTitle, webAddress } from "./links.js";

const COPIED_MS = 1500;

/** Adds what HTML of the service needs to be used: copy buttons for code, links that keep the chat open. */
export function decorate(elements, strings) {
  for (const element of elements) {
    const all = [element, ...element.querySelectorAll("*")];
    for (const code of all.filter((one) => one.matches(".bw-code"))) addCopyButton(code, strings);
    for (const link of all.filter((one) => one.matches("a"))) link.setAttribute("target", "_blank");
  }
}

function addCopyButton(code, strings) {
  const copy = copyButton("copy", strings.copyCode, () => code.querySelector("code").textContent, strings);
  code.prepend(make("div", { class: "bw-code-head" }, make("span", {}, code.dataset.language || ""), copy));
}

/** A button that copies a text, and says so for a moment. */
function copyButton(name, label, text, strings) {
  const copy = button({ name, label, css: "bw-quiet" });
  let timer;
  const show = (sign, words, isDone) => {
    copy.replaceChildren(icon(sign));
    copy.setAttribute("aria-label", words);
    copy.classList.toggle("bw-done", isDone);
  };
  copy.addEventListener("click", async () => {
    await copyText(text());
    show("check", strings.copied, true);
    clearTimeout(timer);
    timer = setTimeout(() => show(name, label, false), COPIED_MS);
  });
  return copy;
}

export class Exchange {
  text = "";
  sources = [];

  constructor(chat, question, lesson) {
    // `lesson`: the id of the one that the reader chose
    Object.assign(this, { chat, question, lesson });
    this.body = make("div", { class: "bw-text" });
    this.progress = make("p", { class: "bw-progress" }, chat.strings.searching);
    this.footer = make("div", { class: "bw-footer" });
    this.answer = make("article", { class: "bw-answer", "aria-busy": "true" }, this.progress, this.body, this.footer);
    this.element = make("section", { class: "bw-exchange" }, make("h2", { class: "bw-question" }, question), this.answer);
  }

  /** The search has begun; a follow-up shows the question that is searched for. Further searches of a model are not shown. */
  search(query) {
    if (this.query) return;
    this.query = query;
    if (query && query !== this.question) this.answer.prepend(make("p", { class: "bw-note" }, this.chat.strings.searchedFor(query)));
  }

  /** Shows more of the answer. Returns whether these are its first words. */
  more({ delta, keep, html }) {
    this.text += delta;
    this.progress.remove();
    this.show(keep, html);
    return this.text === delta;
  }

  show(keep, html) {
    const elements = replaceFrom(this.body, keep, html);
    decorate(elements, this.chat.strings);
    for (const element of elements) for (const sign of element.querySelectorAll("sup[data-cite]")) this.addChip(sign);
  }

  /** [1] becomes a button that opens the passage. In a refusal it says what it does. */
  addChip(sign) {
    if (this.kind === "ambiguous") return this.addChoice(sign);
    const { strings } = this.chat;
    const source = this.source(sign.dataset.cite);
    if (!source && this.isComplete) return sign.replaceWith(`[${sign.dataset.cite}]`);
    const label = strings.source(sign.dataset.cite, source ? placeTitle(source) : "");
    const words = this.kind === "refused" && strings.openIt;
    const chip = button({ text: words || sign.dataset.cite, css: words ? "bw-link" : "bw-chip", "aria-label": words ? `${words}: ${label}` : label });
    chip.addEventListener("click", () => this.follow(sign.dataset.cite, chip));
    if (words) {
      if (sign.previousSibling) sign.previousSibling.textContent = sign.previousSibling.textContent.trimEnd();
      sign.replaceWith(": ", chip);
    }
    else sign.replaceChildren(chip);
  }

  /** The item with a lesson to choose becomes a button. */
  addChoice(sign) {
    const item = sign.parentElement;
    const list = item.parentElement;
    sign.remove();
    const choice = make("button", { type: "button", class: "bw-card" }, item.textContent.trim());
    choice.addEventListener("click", () => this.chat.ask(this.question, this.source(sign.dataset.cite)?.parent_doc_id));
    item.replaceChildren(choice);
    if (list.className) return;
    list.className = "bw-choices";
    moveWithArrows(list, "button");
  }

  source(number) {
    return this.sources.find((one) => String(one.number) === number);
  }

  follow(number, opener) {
    const source = this.source(number);
    // sources come with the end of an answer: then it opens
    this.wanted = source ? null : number;
    if (!source) return;
    this.chat.openSource({ ...source, highlights: this.highlights() }, opener);
  }

  /** The highlighted parts of the answer. Positions count whole characters. */
  highlights() {
    const characters = Array.from(this.text);
    return (this.result?.highlights || []).map(({ start, end }) => characters.slice(start, end).join(""));
  }

  /** Shows a complete answer: of the event `done`, or of a stored message. */
  finish(result) {
    this.progress.remove();
    this.result = result;
    this.text = result.response;
    this.isComplete = true;
    this.kind = result.reason === "ambiguous" ? result.reason : result.outcome;
    // says nothing about the book
    this.isTalk = ["small-talk", "other-language", "ambiguous"].includes(result.reason) || this.kind === "blocked";
    this.sources = this.kind === "answered" ? result.sources : result.nearest || [];
    // of a stored message
    this.search(result.searched_for);
    this.show(0, result.html);
    this.answer.removeAttribute("aria-busy");
    this.answer.classList.add(`bw-${this.kind}`);
    this.footer.replaceChildren(...this.footerParts(result).filter(Boolean));
    const chip = this.wanted && [...this.body.querySelectorAll(".bw-chip")].find((one) => one.textContent === this.wanted);
    if (chip) chip.click();
  }

  /** What a screen reader says when the answer is complete. */
  get summary() {
    const { strings } = this.chat;
    if (this.isTalk) return this.body.firstElementChild?.textContent || "";
    return this.kind === "answered" ? strings.ready(this.sources.length) : strings.refusedStatus;
  }

  footerParts(result) {
    const { strings } = this.chat;
    const isAnswered = this.kind === "answered";
    const notes = [result.disclaimer, result.degraded && strings.degraded].filter(Boolean);
    const status = make("div", { class: "bw-actions" }, !this.isTalk && this.confidence(result.confidence_level), ...this.actions(result));
    return [
      ...notes.map((note) => make("p", { class: "bw-note" }, note)),
      isAnswered && this.sourceList(),
      status,
      isAnswered && result.related?.length > 0 && this.next(result.related),
    ];
  }

  sourceList() {
    const items = this.sources.map((source) => {
      const title = placeTitle(source);
      const open = make("button", { type: "button", class: "bw-source", "aria-label": this.chat.strings.source(source.number, title) },
        make("span", { class: "bw-number" }, String(source.number)), make("span", {}, title));
      open.addEventListener("click", () => this.follow(String(source.number), open));
      return make("li", {}, open);
    });
    return make("ol", { class: "bw-sources", "aria-label": this.chat.strings.sources }, ...items);
  }

  /** How sure the answer is, in words; a click explains the words. */
  confidence(level) {
    const [label, explanation] = this.chat.strings.levels[level] || [];
    if (!label) return null;
    return make("details", { class: `bw-level bw-${level}` }, make("summary", {}, label), make("p", {}, explanation));
  }

  actions(result) {
    const { strings } = this.chat;
    const copy = copyButton("copy", strings.copy, () => this.markdown(), strings);
    const share = copyButton("share", strings.share, () => this.chat.shareLink(this.question), strings);
    const retry = button({ name: "retry", label: strings.retry, css: "bw-quiet", onclick: () => this.chat.ask(this.question, this.lesson) });
    const rating = result.answer_id ? feedback(this.chat, result.answer_id) : { thumbs: [], place: null };
    return [make("div", { class: "bw-tools" }, copy, share, retry, ...rating.thumbs), rating.place];
  }

  /** The answer as Markdown, with its sources. */
  markdown() {
    const lines = this.kind === "answered" ? this.sources.map((source) => `- [${source.number}] ${placeTitle(source)}${webAddress(source.url) ? ` <${source.url}>` : ""}`) : [];
    return [`**${this.question}**`, this.text, lines.length && `${this.chat.strings.sources}:\n\n${lines.join("\n")}`].filter(Boolean).join("\n\n");
  }

  /** Sections to go on with: each opens its passage. */
  next(sections) {
    const items = sections.map((section) => {
      const open = make("button", { type: "button", class: "bw-card" }, make("strong", {}, section.title), make("span", {}, section.line));
      open.addEventListener("click", () => this.chat.openSource({ ...section, page_title: section.title, quote: section.line }, open));
      return make("li", {}, open);
    });
    return make("div", { class: "bw-next" }, make("h3", {}, this.chat.strings.readNext), make("ul", {}, ...items));
  }

  /** Ends an answer that is not complete, with a way to ask again. */
  cut(message, { isError = false } = {}) {
    this.progress.remove();
    this.answer.removeAttribute("aria-busy");
    // its source is not known
    for (const sign of this.body.querySelectorAll("sup[data-cite]")) sign.replaceWith(`[${sign.dataset.cite}]`);
    const retry = button({ name: "retry", text: this.chat.strings.tryAgain, onclick: () => this.chat.retry(this) });
    this.footer.replaceChildren(make("div", isError ? { class: "bw-problem", role: "alert" } : { class: "bw-note" }, make("p", {}, message), retry));
  }
}

/** A stored message → what `finish` shows. */
export function storedResult(message) {
  const { citations = [], nearest = [], ...details } = message.details || {};
  return { ...details, response: message.content, html: message.html || "", confidence_level: message.confidence_level, sources: citations, nearest };
}
