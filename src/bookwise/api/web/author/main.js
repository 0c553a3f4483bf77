// The author's view: sign in, choose a book and a period, show one view at a time.

import * as books from "./books.js";
import { download, forgetKey, request, storeKey, storedKey } from "./client.js";
import { button, h, note, problem, prose } from "./elements.js";
import * as keys from "./keys.js";
import * as lessons from "./lessons.js";
import * as overview from "./overview.js";
import * as questions from "./questions.js";
import * as validation from "./validation.js";

const VIEWS = {
  overview: ["Overview", overview.render],
  unanswered: ["Unanswered", questions.render("unanswered")],
  "low-confidence": ["Low confidence", questions.render("low-confidence")],
  disliked: ["Rated down", questions.render("disliked")],
  lessons: ["Lessons", lessons.render],
  validation: ["Validation", validation.render],
  books: ["Books and jobs", books.render],
  keys: ["Keys", keys.render],
};
const WITHOUT_BOOK = ["books", "keys"];
const PERIODS = { 7: "7 days", 30: "30 days", 90: "90 days" };

const header = document.getElementById("header"), nav = document.getElementById("nav"), main = document.getElementById("main");
const STORED_SCOPE = "bookwise:author:scope"; // book and period, until the tab is closed
const state = { books: [], bookId: "", days: 30, ...JSON.parse(sessionStorage.getItem(STORED_SCOPE) || "{}") };
let leaving = new AbortController();

async function start() {
  try {
    const found = await request("GET", "books");
    await request("GET", "ingestion/jobs", { query: { limit: 1 } }); // admins only
    state.books = found.books;
  } catch (error) {
    signIn(error);
    return;
  }
  if (!state.books.some((book) => book.id === state.bookId)) state.bookId = state.books[0]?.id || "";
  drawHeader();
  nav.hidden = false;
  await show();
}

function signIn(error) {
  leaving.abort();
  nav.hidden = true;
  header.replaceChildren(title());
  if (error.status !== 401 && error.status !== 403) {
    main.replaceChildren(problem(error), button("Try again", start));
    return;
  }
  const isReader = error.code === "forbidden" && storedKey();
  const message = isReader ? "This is a reader key. The author's view needs a key with the role admin." : error.message;
  const input = h("input", { type: "password", name: "key", required: true, autocomplete: "off", "aria-describedby": "key-help" });
  const tried = Boolean(storedKey()) || error.status === 403;
  main.replaceChildren(h("form", { class: "form sign-in", onsubmit: (event) => {
    event.preventDefault();
    storeKey(input.value.trim());
    start();
  } },
  h("h2", {}, "Sign in"), tried && h("p", { class: "note bad", role: "alert" }, message),
  h("label", {}, "Admin key", input),
  h("p", { id: "key-help", class: "soft" }, prose("Create one with `bookwise keys create NAME --role admin`. The page keeps it until this tab is closed.")),
  h("button", { class: "primary" }, "Sign in")));
  input.focus();
}

function signOut() {
  forgetKey();
  signIn({ status: 401, message: "" });
}

const title = () => h("h1", {}, "Bookwise ", h("span", { class: "soft" }, "Author's view"));

function drawHeader() {
  const choose = (chosen) => {
    Object.assign(state, chosen);
    sessionStorage.setItem(STORED_SCOPE, JSON.stringify({ bookId: state.bookId, days: state.days }));
    show();
  };
  const book = h("select", { onchange: () => choose({ bookId: book.value }) },
    state.books.map((one) => h("option", { value: one.id, selected: one.id === state.bookId }, one.title)));
  const days = h("select", { onchange: () => choose({ days: Number(days.value) }) },
    Object.entries(PERIODS).map(([value, text]) => h("option", { value, selected: Number(value) === state.days }, text)));
  header.replaceChildren(title(), h("div", { class: "scope" },
    h("label", {}, h("span", {}, "Book "), book), h("label", {}, h("span", {}, "Period "), days),
    button("Export CSV", exportQuestions, { disabled: !state.bookId }), storedKey() && button("Sign out", signOut)));
}

async function exportQuestions() {
  try {
    await download("author/questions.csv", { book_id: state.bookId, days: state.days }, `${state.bookId}-questions.csv`);
  } catch (error) {
    main.querySelector(".export-problem")?.remove();
    main.prepend(h("div", { class: "export-problem" }, problem(error)));
  }
}

function drawNav(current) {
  nav.replaceChildren(h("ul", {}, Object.entries(VIEWS).map(([id, [name]]) =>
    h("li", {}, h("a", { href: `#${id}`, "aria-current": id === current ? "page" : null }, name)))));
  nav.querySelector("[aria-current]").scrollIntoView({ block: "nearest", inline: "center" }); // on a phone, the views scroll
}

async function show() {
  leaving.abort();
  leaving = new AbortController();
  const id = VIEWS[location.hash.slice(1)] ? location.hash.slice(1) : "overview";
  const [name, render] = VIEWS[id];
  const book = state.books.find((one) => one.id === state.bookId);
  document.title = `${name} · Author's view · Bookwise`;
  drawNav(id);
  const root = h("div", { class: "view", "aria-busy": "true" });
  main.replaceChildren(h("h2", { class: "view-title" }, name), root);
  if (!book && !WITHOUT_BOOK.includes(id)) {
    root.replaceChildren(note("There is no book yet. Run `bookwise ingest PATH`."));
    return;
  }
  const context = { book, books: state.books, days: state.days, signal: leaving.signal, reload: start, signOut };
  try {
    await render(root, context);
  } catch (error) {
    if (error.name === "AbortError") return;
    if (error.status === 401) signIn(error);
    else root.replaceChildren(problem(error));
  } finally {
    root.removeAttribute("aria-busy");
  }
}

addEventListener("hashchange", () => { if (!nav.hidden) show().then(() => main.focus()); });
document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); main.focus(); });
start();
