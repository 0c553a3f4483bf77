// Which lessons the answers quote, and which ones none of them quotes.

import { request } from "./client.js";
import { h, pageLink, plural, section, table } from "./elements.js";

export async function render(root, { book, days, signal }) {
  const found = await request("GET", "author/lessons", { query: { book_id: book.id, days }, signal });
  const cited = found.cited.map((lesson) => [pageLink(lesson.title, lesson.url), String(lesson.count)]);
  const uncited = found.never_cited.map((lesson) => [pageLink(lesson.title, lesson.url)]);
  root.append(
    section("Most cited lessons", table("Most cited lessons", [{ title: "Lesson" }, { title: "Answers", number: true }], cited,
      { empty: "No answer in this period quotes a lesson." })),
    section("Never cited lessons",
      h("p", { class: "soft" }, `${found.never_cited.length} of ${plural(found.lessons, "lesson")} in ${plural(found.answers, "answer")}. ` +
        "Few answers leave many lessons out: this list means something only after many questions."),
      table("Never cited lessons", [{ title: "Lesson" }], uncited, { empty: "Every lesson was quoted." })));
}
