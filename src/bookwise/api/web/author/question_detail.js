// One question: its conversation, the nearest sections of the book, and an entry for the validation questions.

import { request } from "./client.js";
import { fragment } from "../../chat/html.js"; // of the service: /chat/html.js
import { copyButton, h, moment, pageLink, percent, problem } from "./elements.js";

export async function detail(root, question) {
  root.replaceChildren(h("p", { class: "soft" }, "Loading…"));
  try {
    const found = await request("GET", `author/questions/${encodeURIComponent(question.answer_id)}`);
    root.replaceChildren(h("div", { class: "detail" }, transcript(found), nearest(found), entry(found)));
    showExchange(root.querySelector(".transcript"));
  } catch (error) {
    root.replaceChildren(problem(error));
  }
}

function transcript(found) {
  const { searched } = found.question;
  const answerAt = found.transcript.findIndex((message) => message.is_answer);
  const messages = found.transcript.map((message, at) => h("li", { class: message.role, "aria-current": at === answerAt || at === answerAt - 1 ? "true" : null },
    h("p", { class: "facts" }, `${message.role === "user" ? "Reader" : "Bookwise"} · ${moment(message.sent_at)}`),
    h("div", { class: message.html ? "html" : "text" }, message.html ? fragment(message.html) : message.text)));
  return h("section", {}, h("h3", {}, "Conversation"), searched && h("p", { class: "soft" }, `Searched for: ${searched}`),
    messages.length ? h("ol", { class: "transcript", tabindex: "0", "aria-label": "Conversation" }, messages) : h("p", { class: "soft" }, found.transcript_note));
}

/** Scrolls the conversation to the question that was opened, and moves nothing else. */
function showExchange(list) {
  const current = list?.querySelector("[aria-current]");
  if (current) list.scrollTop = current.offsetTop;
}

function nearest(found) {
  const isRefused = found.question.outcome === "refused";
  const items = found.nearest.map((place) => h("li", {}, pageLink(name(place), place.url),
    h("span", { class: "soft" }, ` similarity ${percent(place.score)}`)));
  return h("section", {}, h("h3", {}, "Nearest sections in the book now"),
    items.length ? h("ol", { class: "nearest" }, items) : h("p", { class: "soft" }, "No section can be searched for."),
    isRefused && items.length > 0 && h("p", { class: "soft" }, "If one of them answers the question, the refusal was wrong: the book does not lack it."),
    found.lessons.length > 0 && h("p", {}, `The answer quotes: ${found.lessons.join(", ")}.`));
}

const name = (place) => (place.section && place.section !== place.title ? `${place.title} › ${place.section}` : place.title);

function entry(found) {
  if (!found.refusal_entry) return null;
  const choices = [...found.nearest.map((place) => [`answer it from “${name(place)}”`, place.entry]), ["refuse it", found.refusal_entry]];
  const code = h("code", {}, choices[0][1]);
  const select = h("select", { onchange: () => { code.textContent = choices[select.selectedIndex][1]; } },
    choices.map(([text]) => h("option", {}, text)));
  return h("section", {}, h("h3", {}, "Add to validation questions"),
    h("p", { class: "actions" }, h("label", {}, "The book should ", select), copyButton(() => code.textContent, "Copy entry")),
    h("pre", { tabindex: "0", "aria-label": "Entry for bookwise.toml" }, code),
    h("p", { class: "soft" }, "Paste it into bookwise.toml at the root of the book. Bookwise never changes the book."));
}
