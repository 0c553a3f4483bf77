// The results of each `bookwise validate`.

import { lineChart } from "./charts.js";
import { request } from "./client.js";
import { day, h, moment, note, percent, section, table } from "./elements.js";

const share = (part, whole) => (whole ? part / whole : null);
const shown = (value) => (value === null ? "–" : percent(value));

export async function render(root, { book, signal }) {
  const { runs } = await request("GET", "author/validations", { query: { book_id: book.id }, signal });
  if (!runs.length) {
    root.append(note("No validation run is stored yet. Add `[[questions]]` to `bookwise.toml` and run `bookwise validate`."));
    return;
  }
  root.append(trend(runs), failures(runs[0]));
}

function trend(runs) {
  const own = runs.filter((run) => run.own_questions).reverse();
  const series = [{ name: "Correct", color: "good" }, ...(own.some((run) => run.useful_asked) ? [{ name: "Useful", color: "accent" }] : [])];
  const points = own.map((run) => ({ label: day(run.ran_at), values: [share(run.correct, run.asked), share(run.useful, run.useful_asked)] }));
  const columns = [{ title: "Run", short: true }, { title: "Engine" }, ...["Asked", "Correct", "Useful"].map((title) => ({ title, number: true }))];
  const rows = runs.map((run) => [moment(run.ran_at), run.engine + (run.own_questions ? "" : ", questions of a file"), String(run.asked),
    shown(share(run.correct, run.asked)), shown(share(run.useful, run.useful_asked))]);
  return section("Validation runs",
    h("p", { class: "soft" }, "Correct: the right lesson is cited, or the question is rightly refused. Useful: of the questions that name facts. The chart leaves out runs with questions of a file."),
    h("div", { class: "figure" },
      own.length > 0 && lineChart("Share of correct and useful answers of each run. The table has the figures.", series, points),
      table("Validation runs", columns, rows)));
}

function failures(run) {
  const kinds = run.kinds.map((kind) => [kind.kind, String(kind.asked), shown(share(kind.correct, kind.asked))]);
  return section("Newest run",
    table("Kinds of questions", [{ title: "Kind" }, { title: "Asked", number: true }, { title: "Correct", number: true }], kinds),
    h("h4", {}, "Wrong answers and refusals"),
    table("Wrong answers and refusals", [{ title: "Question" }, { title: "Reason" }], run.failed.map((one) => [one.id, one.reason]),
      { empty: "Every question was answered or refused correctly." }));
}
