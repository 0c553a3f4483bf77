// A lesson as a page, with the cited words marked. Citations open it when the book has no site.

import { decorate } from "./chat/answer.js";
import { addStyle } from "./chat/chat.js";
import { icon, make } from "./chat/dom.js";
import { fragment } from "./chat/html.js";
import { webAddress } from "./chat/links.js";
import { Service } from "./chat/service.js";
import { Store } from "./chat/store.js";
import { STRINGS } from "./chat/strings.js";

const NO_LESSON = "This lesson is not in the book. It may have been renamed or removed since the link was made.";

const home = new URL(".", import.meta.url);
const service = new Service(home, "", new Store(home.href));
const parameters = new URLSearchParams(location.search);
const id = decodeURIComponent(location.pathname.split("/").at(-1));
const root = document.getElementById("lesson");

function address(lesson, book) {
  return `${encodeURIComponent(lesson)}?${new URLSearchParams({ book })}`;
}

function askLink(book) {
  return make("a", { class: "bw-button", href: `../?${new URLSearchParams(book ? { book } : {})}` }, STRINGS.title);
}

function neighbour(lesson, book, label) {
  return lesson ? make("a", { class: "bw-button", href: address(lesson.parent_doc_id, book) }, label(lesson.title)) : make("span");
}

function lessonView(lesson) {
  const { metadata } = lesson.chunks[0];
  const inBook = webAddress(lesson.url);
  const sections = lesson.sections.map((section) => {
    const element = make("section", { id: section.anchor || null, class: "bw-text", "data-chunks": section.chunk_ids.join(" ") });
    element.append(fragment(section.html));
    decorate([...element.children], STRINGS);
    return element;
  });
  const ask = askLink(lesson.book_id);
  const open = inBook && make("a", { class: "bw-button", href: inBook, rel: "noopener noreferrer" }, icon("open"), STRINGS.openInBook);
  const around = make("nav", { class: "around", "aria-label": "Lessons" },
    neighbour(lesson.previous, lesson.book_id, (title) => `← ${title}`), neighbour(lesson.next, lesson.book_id, (title) => `${title} →`));
  return make("article", { class: "lesson" }, make("p", { class: "path" }, metadata.breadcrumb.join(" › ")), make("h1", {}, lesson.title),
    make("div", { class: "tools" }, ask, open), ...sections, around);
}

function keyForm(message) {
  const key = make("input", { type: "password", autocomplete: "off", "aria-label": STRINGS.key, placeholder: "bw_…" });
  const form = make("form", { class: "lesson bw-key" }, make("h1", {}, "Bookwise"), make("p", {}, message), make("div", { class: "bw-box" }, key, make("button", { type: "submit", class: "bw-button bw-primary" }, STRINGS.useKey)));
  form.addEventListener("submit", (event) => { event.preventDefault(); service.useKey(key.value.trim()); show(); });
  return form;
}

/** Quoted words that are also in other sections, such as a short command, are not what is cited there. */
function unmarkOutside(cited) {
  for (const mark of frame.querySelectorAll("mark")) if (!cited.contains(mark)) mark.replaceWith(...mark.childNodes);
}

async function show() {
  const query = new URLSearchParams({ html: "true", ...(parameters.get("book") && { book_id: parameters.get("book") }) });
  for (const quote of parameters.getAll("quote")) query.append("quote", quote);
  try {
    const lesson = await service.json(`lesson/${encodeURIComponent(id)}?${query}`);
    document.title = `${lesson.title} · Bookwise`;
    frame.replaceChildren(lessonView(lesson));
    const cited = [...frame.querySelectorAll("section")].find((one) => one.dataset.chunks.split(" ").includes(parameters.get("chunk")));
    if (cited?.querySelector("mark")) unmarkOutside(cited);
    (frame.querySelector("mark") || cited)?.scrollIntoView({ block: "center" });
  } catch (error) {
    const ask = { unauthenticated: service.key ? STRINGS.wrongKey : STRINGS.needsKey, "forbidden-origin": STRINGS.forbiddenOrigin }[error.code];
    if (ask) return frame.replaceChildren(keyForm(ask));
    const message = { 0: STRINGS.unreachable, 404: NO_LESSON, 422: NO_LESSON }[error.status] ?? `${error.message} ${error.advice || ""}`;
    frame.replaceChildren(make("div", { class: "lesson" }, make("h1", {}, "Bookwise"), make("p", { class: "bw-problem", role: "alert" }, message),
      make("p", { class: "tools" }, askLink(parameters.get("book")))));
  }
}

const frame = make("div", { class: "bw", tabindex: "0", role: "region", "aria-label": "Lesson" });
addStyle(root);
root.append(frame);
show();
