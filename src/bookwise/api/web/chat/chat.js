// The chat: asks a book and shows where each answer comes from. The page and the widget are built on it.

import { Exchange, storedResult } from "./answer.js";
import { Composer, SHOWN_AFTER_MS } from "./composer.js";
import { button, make, moveWithArrows } from "./dom.js";
import { SourcePanel } from "./panel.js";
import { newSessionId, Problem, Service } from "./service.js";
import { Store } from "./store.js";
import { STRINGS } from "./strings.js";
import { STYLE } from "./style.js";

/** Creates a chat inside `root`, an element or a shadow root. `ThreadList` and `Filters` are the classes of parts that only the page has. */
export function createChat(options) {
  return new Chat(options);
}

class Chat {
  constructor({ root, home, key, book, startBook, compact = false, ThreadList, Filters, storage = "local", strings = {}, request = () => ({}), title, questions, disclaimer, shortcut }) {
    this.home = new URL(home);
    this.strings = { ...STRINGS, ...strings };
    this.store = new Store(this.home.href, storage);
    this.service = new Service(this.home, key, this.store);
    this.startBook = startBook;
    this.fixed = { book, title, questions, disclaimer, request };
    this.listeners = new Map();
    this.build(compact, { ThreadList, Filters });
    addStyle(root);
    root.append(this.element);
    this.composer.update();
    this.addKeys(shortcut);
    this.starting = this.start();
  }

  // ---- Building ----

  build(compact, { ThreadList, Filters }) {
    const { strings } = this;
    this.threads = ThreadList && new ThreadList(this);
    this.filters = Filters && new Filters(strings);
    this.heading = make(compact ? "h2" : "h1", { class: "bw-title" }, this.fixed.title || strings.title);
    this.picker = make("select", { class: "bw-picker", "aria-label": strings.book, hidden: true, onchange: () => this.choose(this.picker.value) });
    this.menu = button({ name: "menu", label: strings.threads, css: "bw-quiet bw-menu", "aria-expanded": "false", onclick: () => this.toggleThreads() });
    // The widget has no room for the word.
    const name = { [compact ? "label" : "text"]: strings.newThread };
    const fresh = button({ name: "add", ...name, css: "bw-fresh", onclick: () => this.clear() });
    this.head = make("header", { class: "bw-head" }, this.threads && this.menu, make("div", { class: "bw-heading" }, this.heading, this.picker), fresh);
    this.log = make("div", { class: "bw-log", role: "region", "aria-label": strings.conversation, tabindex: "0" });
    this.panel = new SourcePanel(this);
    this.composer = new Composer({ strings, store: this.store, filters: this.filters, onsend: (text) => this.ask(text), onstop: () => this.stop() });
    this.status = make("div", { class: "bw-hidden", role: "status" });
    const center = make("div", { class: "bw-center" }, this.log, this.composer.element);
    const columns = make("div", { class: "bw-columns" }, this.threads?.element, center, this.panel.element);
    // A click beside the list closes it.
    columns.addEventListener("click", (event) => { if (event.target === columns) this.toggleThreads(false); });
    this.element = make("div", { class: `bw${compact ? " bw-compact" : ""}` }, this.head, columns, this.status);
  }

  addKeys(shortcut) {
    this.element.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || event.defaultPrevented) return;
      if (this.panel.isOpen) this.panel.close();
      else if (this.element.classList.contains("bw-with-threads")) this.toggleThreads(false);
      else if (this.abort) this.stop();
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
    this.onshortcut = (event) => {
      if (!shortcut || event.key.toLowerCase() !== shortcut || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      this.focus();
    };
    document.addEventListener("keydown", this.onshortcut);
  }

  // ---- Start, books, conversations ----

  async start() {
    try {
      const { books } = await this.service.json("books");
      this.books = books;
      const wanted = this.fixed.book || this.startBook || this.store.book;
      const selected = books.find((one) => one.id === wanted) || books[0];
      if (!selected) return this.log.replaceChildren(make("p", { class: "bw-note" }, this.strings.noBook));
      this.picker.replaceChildren(...books.map((one) => make("option", { value: one.id }, one.title)));
      await this.showBook(selected);
    } catch (error) {
      this.showStartProblem(error);
    }
  }

  async showBook(book) {
    this.book = book.id;
    this.store.book = book.id;
    this.composer.useBook(book.id);
    this.picker.value = book.id;
    this.picker.hidden = this.books.length < 2 || Boolean(this.fixed.book);
    this.heading.hidden = !this.picker.hidden;
    this.heading.textContent = this.fixed.title || book.title;
    this.session = this.store.open(book.id);
    this.loadDetails(book.id);
    this.emit("book", { id: book.id, title: book.title });
    this.showThreads();
    await this.showThread();
  }

  /** Starter questions and filters. A late response never replaces the filters of a book that was chosen since. */
  loadDetails(book) {
    const details = this.service.json(`books/${encodeURIComponent(book)}`).catch(() => ({}));
    this.details = details;
    this.filters?.offer();
    details.then(({ filters }) => {
      if (details === this.details) this.filters?.offer(filters, this.store.filters(book), (values) => this.store.setFilters(book, values));
    });
  }

  async choose(id) {
    this.leave();
    this.starting = this.showBook(this.books.find((book) => book.id === id)).catch((error) => this.showStartProblem(error));
    await this.starting;
    this.focusBox();
  }

  showThreads() {
    this.threads?.show(this.store.threads(this.book), this.session);
  }

  toggleThreads(isShown = !this.element.classList.contains("bw-with-threads")) {
    this.element.classList.toggle("bw-with-threads", isShown);
    this.menu.setAttribute("aria-expanded", String(isShown));
    (isShown ? this.threads.element.querySelector("button") : this.menu)?.focus();
  }

  async resume(id) {
    this.leave();
    this.store.setOpen(this.book, id);
    this.session = id;
    this.showThreads();
    this.starting = this.showThread().catch((error) => this.showStartProblem(error));
    await this.starting;
    this.focusBox();
  }

  /** Ends what belongs to the shown conversation, before another one is shown. */
  leave() {
    this.stop();
    this.panel.close();
    if (this.threads) this.threads.form = null;
    if (this.element.classList.contains("bw-with-threads")) this.toggleThreads(false);
  }

  async removeThread(id) {
    if (id === this.session) this.stop();
    try {
      await this.service.call(`session/${encodeURIComponent(id)}`, { method: "DELETE" });
    } catch (error) {
      if (error.status !== 404) return this.showProblem(error);
    }
    this.store.forget(id);
    if (id === this.session) this.clear();
  }

  /** Shows the open conversation as it was, or the beginning of a new one. */
  async showThread() {
    const { session } = this;
    this.log.replaceChildren();
    if (!session) return this.showEmpty();
    const reading = this.startReading();
    try {
      const thread = await this.service.json(`session/${encodeURIComponent(session)}?html=true`);
      if (reading === this.reading) this.showMessages(thread.messages);
    } catch (error) {
      if (reading !== this.reading) return;
      if (error.status !== 404) throw error;
      this.store.forget(session);
      this.session = null;
      this.showThreads();
      this.showEmpty();
    }
  }

  /** From now on, a late response for an earlier conversation is not shown. */
  startReading() {
    this.reading = {};
    return this.reading;
  }

  /** Shows stored messages. An interrupted answer to a question that was asked again is left out, as it was by Retry. */
  showMessages(messages) {
    const pairs = [];
    for (const message of messages) {
      if (message.role === "user") pairs.push([message.content]);
      // Without a pair, the question is older than the messages of the response.
      else if (pairs.length) pairs.at(-1)[1] = message;
    }
    const isCut = ([, answer]) => !answer || answer.complete === false;
    const shown = pairs.filter((pair, at) => !(isCut(pair) && pairs[at + 1]?.[0] === pair[0]));
    for (const [question, answer] of shown) this.showStored(question, answer);
  }

  showStored(question, answer) {
    const exchange = new Exchange(this, question);
    this.log.append(exchange.element);
    this.composer.last = question;
    if (answer && answer.complete !== false) exchange.finish(storedResult(answer));
    else {
      if (answer) exchange.show(0, answer.html || "");
      exchange.cut(this.strings.interrupted);
    }
    this.scrollTo(exchange);
  }

  /** The beginning: what the book is, and questions to start with. */
  showEmpty() {
    this.startReading();
    const list = make("ul", { class: "bw-starters", "aria-label": this.strings.starters });
    moveWithArrows(list, "button");
    const note = this.fixed.disclaimer && make("p", { class: "bw-note" }, this.fixed.disclaimer);
    const title = this.fixed.title || this.books?.find(({ id }) => id === this.book)?.title || this.strings.title;
    this.log.replaceChildren(make("div", { class: "bw-empty" }, make("h2", {}, title), make("p", {}, this.strings.intro), list, note));
    this.details?.then(({ questions = [] }) => {
      const shown = this.fixed.questions?.length ? this.fixed.questions : questions;
      list.replaceChildren(...shown.map((text) => make("li", {}, make("button", { type: "button", class: "bw-card", onclick: () => this.ask(text) }, text))));
    });
  }

  // ---- Asking ----

  /** Asks a question, unless one is being answered. A question that is stopped before it is sent goes back to the box. */
  async ask(text, lesson) {
    const message = text.trim();
    if (!message || this.abort) return;
    const abort = new AbortController();
    this.abort = abort;
    this.composer.setBusy(true);
    try {
      // The stored messages come first, and the filters that the reader has set.
      await this.starting;
      if (this.filters && Object.keys(this.store.filters(this.book)).length) await this.details;
      if (abort.signal.aborted || !this.book) this.composer.offer(message);
      else await this.answer(new Exchange(this, message, lesson), abort.signal);
    } finally {
      if (this.abort === abort) this.stop();
    }
  }

  async answer(exchange, signal) {
    exchange.reading = this.reading;
    const received = this.receive(exchange, signal);
    const waiting = setTimeout(() => {
      this.showExchange(exchange);
      if (!exchange.text) this.announce(this.strings.searching);
    }, SHOWN_AFTER_MS);
    this.emit("ask", { question: exchange.question });
    const problem = await received.catch((error) => error);
    clearTimeout(waiting);
    this.showExchange(exchange);
    if (problem) this.fail(problem, exchange);
  }

  /** Shows a question and what there is of its answer, unless it is shown or another conversation is. */
  showExchange(exchange) {
    if (this.log.contains(exchange.element) || exchange.reading !== this.reading) return;
    this.log.querySelector(".bw-empty")?.remove();
    this.log.append(exchange.element);
    this.scrollTo(exchange);
  }

  async receive(exchange, signal) {
    this.session ||= newSessionId();
    const body = { message: exchange.question, parent_doc_id: exchange.lesson, html: true, book_id: this.book, session_id: this.session, ...this.filters?.chosen(), ...this.fixed.request() };
    let listing;
    for await (const [name, data] of this.service.events("chat/stream", body, signal)) {
      if (name === "error") throw new Problem(data, data.status);
      // The service has stored the question: the conversation is there after a reload. It is listed after the first words.
      if (!listing) {
        this.store.touch(this.session, this.book, exchange.question);
        listing = setTimeout(() => this.showThreads(), 300);
      }
      if (name === "tool_call") exchange.search(data.arguments.query);
      if (name === "done") this.complete(data, exchange);
      if (name === "content" && exchange.more(data)) {
        this.showExchange(exchange);
        await drawn();
        this.composer.empty();
        clearTimeout(listing);
        this.showThreads();
        signal.throwIfAborted();
      }
    }
  }

  complete(result, exchange) {
    exchange.finish(result);
    this.announce(exchange.summary);
    this.emit("answer", { question: exchange.question, outcome: result.outcome, answer_id: result.answer_id });
  }

  fail(error, exchange) {
    if (error.name === "AbortError") {
      this.announce(this.strings.stopped);
      return exchange.cut(this.strings.stopped);
    }
    if (!(error instanceof Problem)) throw error;
    this.emit("error", { message: this.problemText(error), status: error.status, code: error.code });
    this.composer.offer(exchange.question);
    if (this.wantsKey(error)) {
      exchange.element.remove();
      return this.askForKey(error);
    }
    exchange.cut(this.problemText(error), { isError: true });
  }

  retry(exchange) {
    if (this.abort) return;
    exchange.element.remove();
    if (this.composer.text.trim() === exchange.question) this.composer.text = "";
    this.ask(exchange.question, exchange.lesson);
  }

  /** Ends the answer that is being received, if there is one. The next question can be asked at once. */
  stop() {
    this.abort?.abort();
    this.abort = null;
    this.composer.setBusy(false);
  }

  openSource(source, opener) { this.panel.open(source, opener); }

  shareLink(question) {
    const url = new URL(this.home);
    url.search = new URLSearchParams({ q: question, book: this.book });
    return url.href;
  }

  // ---- Problems and keys ----

  problemText(error) {
    const { strings } = this;
    const known = { "connection-lost": this.book ? strings.lost : strings.unreachable, "forbidden-origin": strings.forbiddenOrigin,
      unauthenticated: this.service.key ? strings.wrongKey : strings.needsKey }[error.code];
    return known || `${error.message} ${error.advice || ""}`.trim();
  }

  showStartProblem(error) {
    if (!(error instanceof Problem)) throw error;
    if (this.wantsKey(error)) return this.askForKey(error);
    this.emit("error", { message: this.problemText(error), status: error.status, code: error.code });
    const retry = button({ name: "retry", text: this.strings.tryAgain, onclick: () => { this.log.replaceChildren(); this.starting = this.start(); } });
    this.log.replaceChildren(make("div", { class: "bw-problem", role: "alert" }, make("p", {}, this.problemText(error)), retry));
  }

  showProblem(error) {
    if (!(error instanceof Problem)) throw error;
    this.log.append(make("div", { class: "bw-problem", role: "alert" }, this.problemText(error)));
  }

  /** Whether the reader can enter another key. The key of a site is its owner's. */
  wantsKey({ status, code }) {
    return status === 401 || (code === "forbidden-origin" && this.store.secret());
  }

  askForKey(error) {
    this.log.querySelector(".bw-key")?.remove();
    const { strings } = this;
    const key = make("input", { type: "password", autocomplete: "off", "aria-label": strings.key, placeholder: "bw_…" });
    const message = make("p", this.service.key ? { class: "bw-problem", role: "alert" } : {}, this.problemText(error));
    const form = make("form", { class: "bw-key" }, message, make("div", { class: "bw-box" }, key, make("button", { type: "submit", class: "bw-button bw-primary" }, strings.useKey)));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (!key.value.trim()) return;
      this.service.useKey(key.value.trim());
      form.remove();
      this.starting = this.start();
    });
    this.log.append(form);
    key.focus();
  }

  // ---- For the page and the widget ----

  /** Asks the question of a link, in the whole book. */
  askLinked(question) {
    this.store.setFilters("", {});
    return this.ask(question);
  }

  setDraft(text) { this.composer.text = text; }

  focus() { this.composer.input.focus(); }

  /** Begins a new conversation. */
  clear() {
    this.leave();
    this.session = null;
    if (this.book) this.store.setOpen(this.book, null);
    this.showThreads();
    this.showEmpty();
    this.focusBox();
  }

  /** The focus goes to the box, except on a phone: there the keyboard would cover the conversation. */
  focusBox() {
    if (matchMedia("(hover: hover)").matches) this.focus();
  }

  destroy() {
    this.stop();
    document.removeEventListener("keydown", this.onshortcut);
    this.element.remove();
  }

  on(name, listener) {
    if (!this.listeners.has(name)) this.listeners.set(name, new Set());
    this.listeners.get(name).add(listener);
    return () => this.listeners.get(name).delete(listener);
  }

  emit(name, detail) {
    for (const listener of this.listeners.get(name) || []) listener(detail);
  }

  announce(text) { this.status.textContent = text; }

  /** Scrolls once, to the question with the gap above it; a long answer is then read from its beginning. */
  scrollTo(exchange) {
    this.log.scrollTop = exchange.element.offsetTop - this.log.firstChild.offsetTop;
  }
}

/** Waits until the first words are on the screen: nothing else may hold them up. A hidden page draws nothing. */
function drawn() {
  return new Promise((resolve) => {
    requestAnimationFrame(() => setTimeout(resolve));
    setTimeout(resolve, 99);
  });
}

/** Adds the style of the chat to the document or shadow root of an element. */
export function addStyle(root) {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(STYLE);
  const owner = root.adoptedStyleSheets ? root : root.getRootNode();
  owner.adoptedStyleSheets = [...owner.adoptedStyleSheets, sheet];
}
