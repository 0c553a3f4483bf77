// One question: its conversation, the nearest sections of the book, and an entry for the validation questions.

import { request } from "./client.js";
import { copyButton, h, moment, pageLink, percent, problem } from "./elements.js";

export async function detail(root, question) {
  root.replaceChildren(h("p", { class: "soft" }, "Loading…"));
  try {
    const found = await request("GET", `author/questions/${encodeURIComponent(question.answer_id)}`);
    root.replaceChildren(h("div", { class: "detail" }, transcript(found), nearest(found), entry(found)));
  } catch (error) {
    root.replaceChildren(problem(error));
  }
}

function transcript(found) {
  const messages = found.transcript.map((message) => h("li", { class: `${message.role}${message.is_answer ? " current" : ""}` },
    h("p", { class: "facts" }, `${message.role === "user" ? "Reader" : "Bookwise"} · ${moment(message.sent_at)}`),
    h("div", { class: "text" }, message.text)));
  return h("section", {}, h("h3", {}, "Conversation"),
    messages.length ? h("ol", { class: "transcript" }, messages) : h("p", { class: "soft" }, found.transcript_note));
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
