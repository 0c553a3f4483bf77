// The passage of a citation: beside the conversation where there is room, else a sheet from below.

import { decorate } from "./answer.js";
import { button, icon, make } from "./dom.js";
import { fragment } from "./html.js";
import { lessonAddress, placeTitle, plainQuote, quoteAddress } from "./links.js";

const QUOTES_MAX = 10;
// Characters; the address of a request must stay short
const QUOTE_MAX = 1500;

export class SourcePanel {
  constructor(chat) {
    this.chat = chat;
    this.heading = make("h2", { class: "bw-panel-title", tabindex: "-1" });
    this.path = make("p", { class: "bw-path" });
    this.body = make("div", { class: "bw-text" });
    this.links = make("div", { class: "bw-panel-links" });
    const close = button({ name: "close", label: chat.strings.close, css: "bw-quiet", onclick: () => this.close() });
    this.element = make("aside", { class: "bw-panel", "aria-label": chat.strings.sources, hidden: true },
      make("header", {}, this.heading, close), make("div", { class: "bw-panel-body", tabindex: "0", role: "region", "aria-label": chat.strings.sources }, this.path, this.body), this.links);
  }

  /** Shows the section of a source with the quoted words marked. The focus moves here and returns on closing. */
  async open(source, opener) {
    this.opener?.removeAttribute("aria-expanded");
    this.opener = opener;
    this.source = source;
    opener.setAttribute("aria-expanded", "true");
    this.heading.textContent = source.number ? `${source.number} · ${placeTitle(source)}` : placeTitle(source);
    this.path.textContent = "";
    this.body.replaceChildren(make("p", { class: "bw-progress" }, this.chat.strings.loading));
    this.links.replaceChildren();
    this.element.hidden = false;
    this.chat.element.classList.add("bw-with-panel");
    this.heading.focus();
    this.chat.emit("source", { url: source.url, title: placeTitle(source) });
    await this.load(source);
  }

  async load(source) {
    try {
      const found = source.highlights?.length ? await this.read(source, source.highlights) : null;
      const quotes = found?.html.includes("<mark>") ? source.highlights : [source.quote];
      const { chunk, html } = found?.html.includes("<mark>") ? found : await this.read(source, quotes);
      // Another source was opened meanwhile
      if (!this.isOpen || source !== this.source) return;
      this.path.textContent = chunk.metadata.breadcrumb.join(" › ");
      this.body.replaceChildren(fragment(html));
      decorate([...this.body.children], this.chat.strings);
      this.links.replaceChildren(...this.addresses(source, chunk.metadata, quotes));
      this.body.querySelector("mark")?.scrollIntoView({ block: "center" });
    } catch (error) {
      if (source !== this.source) return;
      this.body.replaceChildren(make("p", { class: "bw-problem", role: "alert" }, this.chat.problemText(error)));
    }
  }

  /** The section of a source, with these quotes marked. */
  read(source, quotes) {
    const query = new URLSearchParams({ html: "true", before: "0", after: "0" });
    for (const quote of quotes.filter(Boolean).slice(0, QUOTES_MAX)) query.append("quote", quote.slice(0, QUOTE_MAX));
    return this.chat.service.json(`context/${encodeURIComponent(source.chunk_id)}?${query}`);
  }

  /** The exact place in the book, and the lesson as a page of the service: both with the words that are marked here. */
  addresses(source, where, quotes) {
    const { strings } = this.chat;
    const inBook = quoteAddress(where.url, quotes.find(plainQuote));
    const lesson = lessonAddress(this.chat.home, { lesson: where.parent_doc_id, book: where.book_id, quotes, chunk: source.chunk_id });
    return [
      inBook && make("a", { class: "bw-button bw-primary", href: inBook, target: "_blank", rel: "noopener noreferrer" }, icon("open"), strings.openInBook),
      make("a", { class: inBook ? "bw-button" : "bw-button bw-primary", href: lesson, target: "_blank", rel: "opener" }, icon("book"), strings.readLesson),
    ].filter(Boolean);
  }

  get isOpen() { return !this.element.hidden; }

  close() {
    if (!this.isOpen) return;
    this.element.hidden = true;
    this.chat.element.classList.remove("bw-with-panel");
    this.opener?.removeAttribute("aria-expanded");
    if (this.opener?.isConnected) this.opener.focus();
  }
}
