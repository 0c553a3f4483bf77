// What the browser keeps: the list of conversations, the open one and the draft of each book, and the key of this tab.
// The service lists no conversations, because readers can share a key: only the browser knows which ones are its own.

const THREADS_MAX = 100;
const TITLE_MAX = 80;
const RATINGS_MAX = 200;

/** A Web Storage, or memory where the page may not use it. */
function storage(kind) {
  try {
    const found = { local: globalThis.localStorage, session: globalThis.sessionStorage }[kind];
    found.setItem("bookwise", "1");
    found.removeItem("bookwise");
    return found;
  } catch {
    const values = new Map();
    return { getItem: (name) => values.get(name) ?? null, setItem: (name, value) => values.set(name, value), removeItem: (name) => values.delete(name) };
  }
}

export class Store {
  constructor(home, kind = "local") {
    this.prefix = `bookwise:${home}`;
    this.kept = storage(kind);
    this.tab = kind === "off" ? this.kept : storage("session");
  }

  read(name, missing) {
    try {
      return JSON.parse(this.kept.getItem(`${this.prefix}:${name}`)) ?? missing;
    } catch {
      return missing;
    }
  }

  write(name, value) {
    this.kept.setItem(`${this.prefix}:${name}`, JSON.stringify(value));
  }

  secret() { return this.tab.getItem(`${this.prefix}:key`); }
  keepSecret(key) { this.tab.setItem(`${this.prefix}:key`, key); }

  draft(book) { return this.tab.getItem(`${this.prefix}:draft:${book}`) || ""; }
  setDraft(book, text) { this.tab.setItem(`${this.prefix}:draft:${book}`, text); }

  get book() { return this.read("book", null); }
  set book(id) { this.write("book", id); }

  /** The open conversation of a book; null for a new one. */
  open(book) { return this.read("open", {})[book] || null; }
  setOpen(book, id) { this.write("open", { ...this.read("open", {}), [book]: id }); }

  /** The filters of a book that the reader has set in this tab. */
  filters(book) {
    try {
      return JSON.parse(this.tab.getItem(`${this.prefix}:filters`))?.[book] || {};
    } catch {
      return {};
    }
  }
  /** Keeps the filters of the book that the reader uses; those of other books are forgotten. */
  setFilters(book, values) { this.tab.setItem(`${this.prefix}:filters`, JSON.stringify({ [book]: values })); }

  /** How the reader rated an answer: "up", "down" or undefined. */
  rating(answer) { return Object.fromEntries(this.read("ratings", []))[answer]; }
  rate(answer, thumb) {
    const others = this.read("ratings", []).filter(([id]) => id !== answer);
    this.write("ratings", [[answer, thumb], ...others].slice(0, RATINGS_MAX));
  }

  /** The conversations of a book, the newest first. */
  threads(book) { return this.read("threads", []).filter((thread) => thread.book === book); }

  /** Adds a conversation, or moves it to the front. Its first question is its title until it is renamed. */
  touch(id, book, question) {
    const all = this.read("threads", []);
    const title = all.find((thread) => thread.id === id)?.title || question.replace(/\s+/g, " ").slice(0, TITLE_MAX);
    this.write("threads", [{ id, book, title, at: Date.now() }, ...all.filter((thread) => thread.id !== id)].slice(0, THREADS_MAX));
    this.setOpen(book, id);
  }

  rename(id, title) {
    this.write("threads", this.read("threads", []).map((thread) => (thread.id === id ? { ...thread, title: title.slice(0, TITLE_MAX) } : thread)));
  }

  forget(id) {
    this.write("threads", this.read("threads", []).filter((thread) => thread.id !== id));
    const open = this.read("open", {});
    this.write("open", Object.fromEntries(Object.entries(open).filter(([, thread]) => thread !== id)));
  }
}
