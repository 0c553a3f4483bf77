// The chat: asks a book and shows the sources of each answer. One file, no build step, no external resources.
//
// On a book's site:  <script src="https://ask.example/widget.js" data-key="bw_…" data-book="my-book" defer></script>
// On Bookwise's own page, the script tag has data-page and the chat fills the window.
//
// Text from books, readers and models becomes text nodes, never HTML.
(() => {
  "use strict";

  const script = document.currentScript;
  const home = new URL(".", script.src);
  const isPage = "page" in script.dataset;
  const memory = `bookwise:${home.href}:${script.dataset.book || ""}`;

  const STYLE = `
    :host { --ink: #1c2330; --soft: #5b6472; --paper: #fff; --shade: #f3f5f8; --line: #dfe3ea; --accent: #2456c5;
      --good: #1d7a46; --fair: #8a5a00; --bad: #a33a2a; --glow: #fdf0bd; color: var(--ink); font: 16px/1.55 system-ui, sans-serif; }
    @media (prefers-color-scheme: dark) {
      :host { --ink: #e7eaf0; --soft: #a2abb9; --paper: #161a21; --shade: #20262f; --line: #343c48; --accent: #8db1ff;
        --good: #6fd39b; --fair: #e9bb62; --bad: #ff9b8a; --glow: #454020; } }
    * { box-sizing: border-box; }
    .chat { display: flex; flex-direction: column; height: 100%; background: var(--paper); }
    header { display: flex; gap: .75rem; align-items: center; padding: .7rem 1rem; border-bottom: 1px solid var(--line); }
    header h1 { flex: 1; margin: 0; font-size: 1.05rem; }
    button, select, input, textarea { font: inherit; color: inherit; }
    button { cursor: pointer; border: 1px solid var(--line); border-radius: .5rem; background: var(--paper);
      padding: .3rem .7rem; }
    button:hover { border-color: var(--accent); }
    :focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
    .log { flex: 1; overflow-y: auto; padding: 1rem; }
    .log > * { max-width: 46rem; margin: 0 auto 1rem; }
    .hello { color: var(--soft); }
    .question { width: fit-content; max-width: 85%; margin-right: 0; padding: .5rem .9rem; border-radius: 1rem 1rem .2rem 1rem;
      background: var(--accent); color: var(--paper); white-space: pre-wrap; overflow-wrap: anywhere; }
    @media (min-width: 48rem) { .page .question { margin-right: calc(50% - 23rem); } }
    .answer { overflow-wrap: anywhere; }
    .answer p, .answer ul, .answer ol { margin: 0 0 .6rem; }
    pre { overflow-x: auto; padding: .7rem .9rem; border-radius: .5rem; background: var(--shade); font-size: .88em; }
    code { font-family: ui-monospace, monospace; font-size: .92em; }
    :not(pre) > code { background: var(--shade); padding: .1em .3em; border-radius: .25em; }
    table { border-collapse: collapse; display: block; overflow-x: auto; margin-bottom: .6rem; }
    th, td { border: 1px solid var(--line); padding: .3rem .6rem; text-align: left; }
    mark { background: var(--glow); color: inherit; padding: .08em 0; }
    :not(pre) > code:has(mark) { background: var(--glow); border-radius: 0; }
    .mark { font-size: .8em; vertical-align: super; line-height: 1; padding: 0 .2em; border: 0; background: none;
      color: var(--accent); }
    .facts { display: flex; flex-wrap: wrap; gap: .6rem; align-items: center; font-size: .85rem; color: var(--soft); }
    .facts button { padding: .1rem .5rem; }
    .facts button[aria-pressed="true"] { border-color: var(--accent); background: var(--shade); }
    .level { font-weight: 600; }
    .high, .medium { color: var(--good); } .low { color: var(--fair); } .insufficient { color: var(--soft); }
    .sources { list-style: none; margin: .5rem 0; padding: 0; font-size: .9rem; }
    .related { margin: .5rem 0; font-size: .9rem; color: var(--soft); }
    .related ul { margin: .15rem 0 0; padding-left: 1.2rem; }
    .related a { color: var(--accent); }
    .sources li { border-left: 3px solid var(--line); padding: .25rem .7rem; margin-bottom: .35rem; }
    .sources li.pointed { border-color: var(--accent); background: var(--shade); }
    .sources q { display: block; color: var(--soft); }
    .sources a { color: var(--accent); }
    .note { color: var(--soft); font-size: .9rem; }
    .problem { color: var(--bad); }
    .waiting::after { content: "…"; animation: blink 1.2s infinite; }
    @keyframes blink { 50% { opacity: .2; } }
    @media (prefers-reduced-motion: reduce) { .waiting::after { animation: none; } }
    form { display: flex; gap: .5rem; align-items: flex-end; padding: .8rem 1rem; border-top: 1px solid var(--line);
      width: 100%; max-width: 48rem; margin: 0 auto; }
    textarea, input { flex: 1; border: 1px solid var(--line); border-radius: .6rem; padding: .5rem .7rem;
      background: var(--paper); resize: none; min-width: 0; }
    .send { background: var(--accent); border-color: var(--accent); color: var(--paper); padding: .5rem 1rem; }
    .open { position: fixed; right: 1.2rem; bottom: 1.2rem; z-index: 2147483000; padding: .8rem 1.1rem; border-radius: 2rem;
      background: var(--accent); border-color: var(--accent); color: var(--paper); box-shadow: 0 4px 16px #0004; }
    .panel { position: fixed; right: 1.2rem; bottom: 1.2rem; z-index: 2147483001; width: min(26rem, calc(100vw - 2.4rem));
      height: min(40rem, calc(100vh - 2.4rem)); border: 1px solid var(--line); border-radius: .9rem; overflow: hidden;
      box-shadow: 0 8px 32px #0005; }
    [hidden] { display: none !important; }
  `;

  const LEVELS = {
    high: "The book says so clearly",
    medium: "The book says so",
    low: "The book says something close",
    insufficient: "The book does not say",
  };

  /** Creates an element with children; strings become text nodes. */
  function make(name, attributes = {}, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
      else if (value !== undefined && value !== null) element.setAttribute(key, value);
    }
    element.append(...children);
    return element;
  }

  // ---- Markdown → DOM nodes, without HTML or scripts ----

  const INLINE = /(`+)([^`]|[^`][\s\S]*?[^`])\1(?!`)|\*\*([^*]+)\*\*|\*([^*\s][^*]*)\*|\[(\d+(?:,\s*\d+)*)\]|\[([^\]]+)\]\((https?:\/\/[^\s)]+)\)/g;

  function inline(text, point) {
    const nodes = [];
    let end = 0;
    for (const match of text.matchAll(INLINE)) {
      nodes.push(text.slice(end, match.index));
      end = match.index + match[0].length;
      const [, , code, strong, stress, numbers, label, address] = match;
      if (code !== undefined) nodes.push(make("code", {}, code.trim()));
      else if (strong !== undefined) nodes.push(make("strong", {}, strong));
      else if (stress !== undefined) nodes.push(make("em", {}, stress));
      else if (numbers !== undefined) nodes.push(...numbers.split(/,\s*/).map((number) => mark(number, point)));
      else nodes.push(link(address, label));
    }
    return [...nodes, text.slice(end)];
  }

  function mark(number, point) {
    return make("button", { class: "mark", type: "button", "aria-label": `Source ${number}`, onclick: () => point(number) }, `[${number}]`);
  }

  function link(address, label) {
    return make("a", { href: address, target: isPage ? "_blank" : "_top", rel: "noopener noreferrer" }, label);
  }

  /** A quote as plain text; empty for tables and code, which are hard to read out of context. */
  function plainQuote(quote) {
    if (!quote || /^\s*(\||```|~~~)/m.test(quote)) return "";
    return quote.replace(/\[([^\]]+)\]\([^)]*\)/g, "$1").replace(/[`*]/g, "");
  }

  const cells = (line) => line.trim().replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim());
  const LIST = /^\s*(?:[-*+]|(\d+)[.)])\s+/;

  /** Markdown lines → block nodes. Each block function takes lines from the front and returns a node. */
  function blocks(markdown, point) {
    const lines = markdown.split("\n");
    const nodes = [];
    while (lines.length) {
      if (!lines[0].trim()) lines.shift();
      else if (/^\s*(```|~~~)/.test(lines[0])) nodes.push(fence(lines));
      else if (lines[0].includes("|") && /^[\s|:-]+$/.test(lines[1] || "")) nodes.push(table(lines, point));
      else if (LIST.test(lines[0])) nodes.push(list(lines, point));
      else nodes.push(paragraph(lines, point));
    }
    return nodes;
  }

  function fence(lines) {
    const [, indent, ticks] = lines.shift().match(/^(\s*)(`{3,}|~{3,})/);
    const code = [];
    while (lines.length && !lines[0].trim().startsWith(ticks)) code.push(lines.shift().replace(indent, ""));
    lines.shift();
    return make("pre", { tabindex: "0" }, make("code", {}, code.join("\n")));
  }

  function table(lines, point) {
    const head = cells(lines.shift());
    lines.shift();
    const body = [];
    while (lines.length && lines[0].includes("|")) body.push(cells(lines.shift()));
    const row = (name, texts) => make("tr", {}, ...texts.map((text) => make(name, {}, ...inline(text, point))));
    return make("table", {}, row("th", head), ...body.map((texts) => row("td", texts)));
  }

  function list(lines, point) {
    const ordered = /^\s*\d/.test(lines[0]);
    const items = [];
    while (lines.length && (LIST.test(lines[0]) || /^\s{2,}\S/.test(lines[0]))) {
      if (LIST.test(lines[0])) items.push([lines.shift().replace(LIST, "")]);
      else items.at(-1).push(lines.shift().replace(/^\s{2,3}/, ""));
    }
    return make(ordered ? "ol" : "ul", {}, ...items.map((item) => make("li", {}, ...itemNodes(item, point))));
  }

  function itemNodes(item, point) {
    return item.length === 1 ? inline(item[0], point) : blocks(item.join("\n"), point);
  }

  function paragraph(lines, point) {
    const text = [];
    while (lines.length && lines[0].trim() && !/^\s*(```|~~~)/.test(lines[0]) && !(text.length && LIST.test(lines[0]))) {
      text.push(lines.shift());
    }
    const heading = text[0].match(/^#{1,6}\s+(.*)/);
    return heading ? make("p", {}, make("strong", {}, heading[1])) : make("p", {}, ...inline(text.join(" "), point));
  }

  // ---- Highlights ----

  const OPEN = "\uFDD0", CLOSE = "\uFDD1"; // noncharacters: no text has a meaning for them

  /** The text with OPEN and CLOSE around its highlights, whose positions count whole characters. */
  function withSigns(text, highlights) {
    if (text.includes(OPEN) || text.includes(CLOSE)) return text;
    const characters = Array.from(text);
    for (const { start, end } of [...highlights].reverse()) {
      characters.splice(end, 0, CLOSE);
      characters.splice(start, 0, OPEN);
    }
    return characters.join("");
  }

  /** Replaces the signs in these nodes by mark elements around the text between them, in document order. */
  function signsToMarks(nodes) {
    const root = make("div", {}, ...nodes);
    const texts = [];
    for (const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT); walker.nextNode();) texts.push(walker.currentNode);
    let inside = false;
    for (const node of texts) {
      const parts = node.data.split(/([\uFDD0\uFDD1])/).map((part) => {
        if (part === OPEN || part === CLOSE) { inside = part === OPEN; return ""; }
        return inside && part.trim() ? make("mark", {}, part) : part;
      });
      node.replaceWith(...parts.filter(Boolean));
    }
    return [...root.childNodes];
  }

  // ---- The service ----

  /** A problem reported by the service. */
  class Problem extends Error {
    constructor(body, status) {
      super(body.detail || `The service returned status ${status}.`);
      this.status = status;
      this.advice = body.advice || "";
    }
  }

  const LOST = new Problem({ detail: "The connection was lost.", advice: "The text so far is saved. Ask again when you are online." }, 0);

  class Service {
    key = script.dataset.key || sessionStorage.getItem(`${memory}:key`) || "";

    keep(key) {
      this.key = key;
      sessionStorage.setItem(`${memory}:key`, key);
    }

    async call(path, options = {}) {
      const headers = { ...(this.key && { Authorization: `Bearer ${this.key}` }), ...(options.body && { "Content-Type": "application/json" }) };
      let response;
      try {
        response = await fetch(new URL(path, home), { ...options, headers, credentials: "omit", referrerPolicy: "no-referrer" });
      } catch (error) {
        throw error.name === "AbortError" ? error : LOST;
      }
      if (!response.ok) throw new Problem(await response.json().catch(() => ({})), response.status);
      return response;
    }

    async json(path, options) {
      return (await this.call(path, options)).json();
    }

    /** Yields server-sent events as [name, data]. A stream without a final event is a lost connection. */
    async *events(path, body, signal) {
      const response = await this.call(path, { method: "POST", body: JSON.stringify(body), signal });
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let text = "";
      for (;;) {
        const { value, done } = await reader.read().catch((error) => { throw error.name === "AbortError" ? error : LOST; });
        if (done) throw LOST;
        text += value;
        const whole = text.split("\n\n");
        text = whole.pop();
        for (const block of whole) {
          const [, name] = block.match(/^event: (.*)$/m) || [];
          const [, data] = block.match(/^data: (.*)$/m) || [];
          if (!name) continue;
          yield [name, JSON.parse(data)];
          if (name === "done" || name === "error") return;
        }
      }
    }
  }

  // ---- The chat ----

  class Chat extends HTMLElement {
    service = new Service();
    session = localStorage.getItem(memory);
    book = script.dataset.book;

    connectedCallback() {
      const root = this.attachShadow({ mode: "open" });
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(STYLE);
      root.adoptedStyleSheets = [sheet];
      this.build(root);
      if (isPage) this.starting = this.start();
    }

    build(root) {
      this.heading = make("h1", {}, script.dataset.title || "Ask the book");
      this.books = make("select", { "aria-label": "Book", hidden: "", onchange: () => this.choose(this.books.value) });
      const fresh = make("button", { type: "button", onclick: () => this.forget() }, "New");
      const close = make("button", { type: "button", "aria-label": "Close", onclick: () => this.toggle(false) }, "✕");
      const head = make("header", {}, this.heading, this.books, fresh, ...(isPage ? [] : [close]));
      this.log = make("div", { class: "log", role: "log", "aria-live": "polite" });
      this.input = make("textarea", { rows: "2", maxlength: "1000", "aria-label": "Your question", placeholder: "Ask about the book …" });
      this.input.addEventListener("keydown", (event) => {
        if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); this.submit(); }
      });
      this.send = make("button", { class: "send", type: "submit" }, "Ask");
      this.form = make("form", { onsubmit: (event) => { event.preventDefault(); this.submit(); } }, this.input, this.send);
      this.panel = make("div", { class: isPage ? "chat page" : "chat panel", role: isPage ? null : "dialog", "aria-label": "Ask the book" }, head, this.log, this.form);
      root.append(this.panel);
      if (!isPage) this.float(root);
    }

    float(root) {
      this.opener = make("button", { class: "open", type: "button", onclick: () => this.toggle(true) }, script.dataset.label || "Ask the book");
      this.panel.hidden = true;
      this.panel.addEventListener("keydown", (event) => { if (event.key === "Escape") this.toggle(false); });
      root.append(this.opener);
    }

    toggle(shown) {
      this.panel.hidden = !shown;
      this.opener.hidden = shown;
      if (!shown) return this.opener.focus();
      if (!this.started) this.starting = this.start();
      this.input.focus();
    }

    async start() {
      this.started = true;
      try {
        const { books } = await this.service.json("books");
        this.offer(books);
        await this.restore();
      } catch (error) {
        this.started = false;
        this.showProblem(error);
      }
    }

    offer(books) {
      const selected = books.find((book) => book.id === this.book) || books[0];
      this.books.replaceChildren(...books.map((book) => make("option", { value: book.id }, book.title)));
      this.books.hidden = books.length < 2 || Boolean(script.dataset.book);
      if (!selected) return this.say("note", "There is no book yet. Run: bookwise ingest PATH-TO-YOUR-BOOK");
      this.book = selected.id;
      this.books.value = selected.id;
      this.setTitle(selected.title);
    }

    setTitle(title) {
      this.heading.textContent = script.dataset.title || title;
      if (isPage) document.title = `${title} · Bookwise`;
      if (!this.log.childElementCount) this.say("hello", "Ask anything about this book. Answers come only from the book, with their sources.");
    }

    choose(book) {
      this.forget();
      this.book = book;
      this.setTitle(this.books.selectedOptions[0].textContent);
    }

    forget() {
      this.stop?.abort();
      this.session = null;
      localStorage.removeItem(memory);
      this.log.replaceChildren();
      this.setTitle(this.heading.textContent);
      this.input.focus();
    }

    /** Shows the stored messages again after a reload. */
    async restore() {
      if (!this.session) return;
      try {
        const thread = await this.service.json(`session/${encodeURIComponent(this.session)}`);
        this.log.replaceChildren();
        if (thread.book_id && thread.book_id !== this.book) this.book = this.books.value = thread.book_id;
        for (const message of thread.messages) {
          if (message.role === "user") this.say("question", message.content);
          else new Answer(this).restore(message);
        }
      } catch (error) {
        if (error.status !== 404) throw error;
        this.session = null;
        localStorage.removeItem(memory);
      }
    }

    askForKey() {
      if (this.form.hidden) return; // the form is already shown
      const key = make("input", { type: "password", autocomplete: "off", "aria-label": "API key", placeholder: "API key (bw_…)" });
      const use = (event) => {
        event.preventDefault();
        this.service.keep(key.value.trim());
        keyForm.remove();
        this.form.hidden = false;
        this.starting = this.start();
      };
      const keyForm = make("form", { onsubmit: use }, key, make("button", { class: "send", type: "submit" }, "Use this key"));
      this.say("note", "This service needs an API key. The page keeps it until you close this tab.");
      this.form.hidden = true;
      this.form.after(keyForm);
      key.focus();
    }

    async submit() {
      if (this.stop) return this.stop.abort();
      const message = this.input.value.trim();
      if (!message) return;
      this.input.value = "";
      this.stop = new AbortController();
      this.send.textContent = "Stop";
      await this.starting; // the stored messages come first, and a new key may not own the stored session
      this.say("question", message);
      const answer = new Answer(this);
      try {
        await this.ask(message, answer);
      } catch (error) {
        if (error.name === "AbortError") answer.cut("Stopped.");
        else { answer.cut(); this.showProblem(error); }
      } finally {
        this.stop = null;
        this.send.textContent = "Ask";
        answer.element.classList.remove("waiting");
      }
    }

    async ask(message, answer) {
      this.session ||= crypto.randomUUID?.() || null;
      const body = { message, ...(this.session && { session_id: this.session }), ...(this.book && { book_id: this.book }) };
      for await (const [name, data] of this.service.events("chat/stream", body, this.stop.signal)) {
        if (name === "content") answer.more(data.delta);
        if (name === "error") throw new Problem(data, data.status);
        if (name === "done") {
          this.session = data.session_id;
          localStorage.setItem(memory, this.session);
          answer.finish(data);
        }
      }
    }

    say(kind, text) {
      const element = make("div", { class: kind }, text);
      this.add(element);
      return element;
    }

    showProblem(error) {
      if (!(error instanceof Problem)) throw error;
      if (error.status === 401 && isPage) return this.askForKey();
      const element = this.say("problem", `${error.message} ${error.advice}`);
      element.setAttribute("role", "alert");
    }

    add(element) {
      this.log.querySelector(".hello")?.remove();
      this.log.append(element);
      this.log.scrollTop = this.log.scrollHeight;
    }
  }

  /** One answer: the text while it is written, then sources, confidence and rating buttons. */
  class Answer {
    text = "";

    constructor(chat) {
      this.chat = chat;
      this.body = make("div");
      this.footer = make("div");
      this.element = make("article", { class: "answer waiting" }, this.body, this.footer);
      chat.add(this.element);
    }

    more(piece) {
      this.text += piece;
      this.show();
    }

    show(highlights = []) {
      const { log } = this.chat;
      const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 80;
      const nodes = blocks(withSigns(this.text, highlights), (number) => this.point(number));
      this.body.replaceChildren(...(highlights.length ? signsToMarks(nodes) : nodes));
      if (atEnd) log.scrollTop = log.scrollHeight;
    }

    finish(response) {
      this.text = response.response;
      this.show(response.highlights);
      this.explain({
        level: response.confidence_level,
        answered: response.outcome === "answered",
        disclaimer: response.disclaimer,
        sources: response.sources,
        nearest: response.nearest,
        related: response.related,
        id: response.answer_id,
        note: response.degraded && "Quoted from the book, because the language model is unavailable.",
      });
    }

    restore(message) {
      this.element.classList.remove("waiting");
      const { outcome, citations, nearest, highlights, related, disclaimer, answer_id: id } = message.details || {};
      this.text = message.content;
      this.show(highlights);
      if (!message.complete && message.complete !== undefined) return this.cut();
      this.explain({ answered: outcome === "answered", disclaimer, sources: citations || [], nearest: nearest || [], related, id });
    }

    explain({ level, answered, disclaimer, sources, nearest, related, id, note }) {
      this.element.classList.remove("waiting");
      const shown = answered ? sources : nearest;
      const parts = [disclaimer && make("p", { class: "note" }, disclaimer), note && make("p", { class: "note" }, note)];
      if (shown?.length) parts.push(make("ol", { class: "sources", "aria-label": answered ? "Sources" : "Nearest lessons" }, ...shown.map((source) => this.source(source, answered))));
      if (related?.length) parts.push(this.related(related));
      parts.push(this.facts(answered ? level : "insufficient", id));
      this.footer.replaceChildren(...parts.filter(Boolean));
      const { log } = this.chat;
      const question = this.element.previousElementSibling || this.element;
      log.scrollTop = question.offsetTop - log.offsetTop;  // show the beginning of a long answer
    }

    source({ number, page_title: page, section, url, quote }, cited) {
      const title = section && section !== page ? `${page} › ${section}` : page;
      const address = this.address(url);
      const name = address ? link(address, title) : title;
      const item = make("li", { "data-number": number }, `[${number}] `, name);
      if (cited && plainQuote(quote)) item.append(make("q", {}, plainQuote(quote)));
      return item;
    }

    /** Other sections, each with its link and a line of it. */
    related(sections) {
      const items = sections.map(({ title, url, line }) => {
        const address = this.address(url);
        return make("li", {}, address ? link(address, title) : title, `: ${line}`);
      });
      return make("div", { class: "related" }, "See also", make("ul", { "aria-label": "See also" }, ...items));
    }

    /** The URL if it is http(s), else null. On the book's site, relative URLs are allowed. */
    address(url) {
      try {
        const resolved = new URL(url, isPage ? undefined : location.origin);
        return /^https?:$/.test(resolved.protocol) ? resolved.href : null;
      } catch {
        return null;
      }
    }

    facts(level, id) {
      const row = make("div", { class: "facts" });
      if (level) row.append(make("span", { class: `level ${level}` }, LEVELS[level]));
      if (id) row.append(this.thumb("up", "Helpful", id), this.thumb("down", "Not helpful", id));
      return row;
    }

    thumb(thumb, label, id) {
      const press = async (event) => {
        const button = event.currentTarget;
        try {
          await this.chat.service.call("feedback", { method: "POST", body: JSON.stringify({ answer_id: id, thumb }) });
          for (const other of button.parentElement.querySelectorAll("button")) other.setAttribute("aria-pressed", String(other === button));
        } catch (error) {
          this.chat.showProblem(error);
        }
      };
      return make("button", { type: "button", "aria-pressed": "false", onclick: press }, label);
    }

    cut(why = "This answer was cut off.") {
      this.element.classList.remove("waiting");
      if (!this.text && why !== "Stopped.") return this.element.remove();
      this.footer.replaceChildren(make("p", { class: "note" }, why));
    }

    point(number) {
      for (const item of this.footer.querySelectorAll("li")) {
        const pointed = item.dataset.number === number;
        item.classList.toggle("pointed", pointed);
        if (pointed) item.scrollIntoView({ block: "nearest" });
      }
    }
  }

  customElements.define("bookwise-chat", Chat);

  function show() {
    const chat = document.createElement("bookwise-chat");
    if (isPage) {
      const whole = new CSSStyleSheet();
      whole.replaceSync("body { margin: 0 } bookwise-chat { display: block; height: 100vh; height: 100dvh }");
      document.adoptedStyleSheets = [whole];
    }
    document.body.append(chat);
  }

  if (document.body) show();
  else addEventListener("DOMContentLoaded", show);
})();
