// Questions that need the author: without an answer, with low confidence, or rated down.

import { request } from "./client.js";
import { announce, button, h, moment, note, plural, problem, replace } from "./elements.js";
import { detail } from "./question_detail.js";

const BATCH = 500;
const STATUSES = { open: "Open", fixed: "Fixed", ignored: "Ignored" };
const ACTIONS = { fixed: "Mark as fixed", ignored: "Ignore", open: "Open again" };
const GROUP_ACTIONS = { fixed: "Mark all as fixed", ignored: "Ignore all", open: "Open all again" };
const INTRO = {
  unanswered: "The reader got no answer. The book may cover the subject all the same: look at the nearest sections before you write a new one.",
  "low-confidence": "The book answered, but the match is weak. Read whether the answer is right.",
  disliked: "Readers rated these answers as not helpful. Newest first.",
};
const REASONS = {
  "not-in-the-book": "no passage was close enough", "nothing-found": "no passage was found",
  ambiguous: "the question fits several places", "other-language": "not in English",
};

export const render = (kind) => async (root, context) => show(root, context, kind, "open");

/** Shows the questions with a status. A late response for a status that was left is not shown. */
async function show(root, context, kind, status) {
  root.dataset.status = status;
  const query = { book_id: context.book.id, days: context.days, kind, status };
  const found = await request("GET", "author/questions", { query, signal: context.signal });
  if (root.dataset.status !== status) return;
  const again = (next) => show(root, context, kind, next).catch((error) => error.name === "AbortError" || root.prepend(problem(error)));
  const mark = async (ids, decision) => {
    for (let at = 0; at < ids.length; at += BATCH) {
      const body = { book_id: found.book_id, answer_ids: ids.slice(at, at + BATCH), status: decision };
      await request("POST", "author/marks", { body });
    }
    announce(`${plural(ids.length, "question")}: ${STATUSES[decision].toLowerCase()}.`);
    await show(root, context, kind, root.dataset.status);
  };
  replace(root,
    h("p", { class: "soft" }, INTRO[kind]),
    !found.questions_kept && note("This service does not store the text of questions (`BOOKWISE_KEEP_QUESTIONS=false`). It only counts them, so there is nothing to read here. Older questions stay until they expire."),
    found.truncated && note("There are more questions than can be read at once. The oldest are left out: choose a shorter period."),
    tabs(found, again),
    found.groups.length ? groups(found, mark) : list(found.questions, status, mark, found.total));
}

function tabs(found, again) {
  const one = (status) => button(`${STATUSES[status]} (${found.counts[status]})`, () => again(status),
    { "aria-pressed": String(found.status === status) });
  return h("div", { class: "tabs", role: "group", "aria-label": "Status" }, Object.keys(STATUSES).map(one));
}

function groups(found, mark) {
  return h("div", {}, found.groups.map((group) => h("details", { class: "group" },
    h("summary", {}, h("b", {}, group.name), h("span", { class: "soft" }, ` ${plural(group.count, "question")}, last asked ${moment(group.last_asked)}`)),
    actions(group.answer_ids, found.status, mark, `the group ${group.name}`, GROUP_ACTIONS),
    list(group.questions, found.status, mark, group.count))));
}

function list(questions, status, mark, total) {
  if (!questions.length) return note(status === "open" ? "Nothing to do here in this period." : "No question has this status in this period.");
  const rest = total - questions.length;
  return h("div", {},
    h("ul", { class: "questions" }, distinct(questions).map((same) => row(same, status, mark))),
    rest > 0 && h("p", { class: "soft" }, `and ${plural(rest, "older question")}: export them as CSV, or choose a shorter period.`));
}

/** The same words, asked several times, are one row. Questions without text stay apart. */
function distinct(questions) {
  const found = new Map();
  for (const question of questions) {
    const words = (question.searched || question.question).toLowerCase().split(/\s+/).join(" ") || question.answer_id;
    found.set(words, [...(found.get(words) || []), question]);
  }
  return [...found.values()];
}

function row(same, status, mark) {
  const [newest] = same;
  const text = newest.question || "(the text is not stored)";
  const facts = [moment(newest.asked_at), same.length > 1 && `asked ${same.length} times`,
    newest.outcome === "refused" ? `no answer: ${REASONS[newest.reason] || newest.reason}` : `${newest.outcome}, confidence ${newest.level}`];
  const more = h("div", {});
  const open = h("details", { ontoggle: () => open.open && !more.firstChild && detail(more, newest) },
    h("summary", {}, h("span", { class: "question" }, text),
      h("span", { class: "facts" }, facts.filter(Boolean).join(" · "),
        newest.asked_again && h("strong", { class: "tag" }, "asked again after the fix"),
        newest.thumb === "down" && h("strong", { class: "tag bad" }, "rated down")),
      newest.comment && h("span", { class: "comment" }, `“${newest.comment}”`)), more);
  return h("li", {}, open, actions(same.map((question) => question.answer_id), status, mark, text));
}

function actions(ids, status, mark, what, labels = ACTIONS) {
  const error = h("div", {});
  const one = (decision) => button(labels[decision], async (event) => {
    event.target.disabled = true;
    try { await mark(ids, decision); } catch (failure) { event.target.disabled = false; error.replaceChildren(problem(failure)); }
  }, { "aria-label": `${labels[decision]}: ${what}` });
  return h("div", { class: "actions" }, Object.keys(labels).filter((decision) => decision !== status).map(one), error);
}
