// How many questions readers asked, and how many of them got no answer or an uncertain one.

import { barChart, lineChart } from "./charts.js";
import { request } from "./client.js";
import { day, h, note, percent, section, table } from "./elements.js";

const WEEKS_FROM_DAYS = 15; // a rate of a day with two questions says nothing

export async function render(root, { book, days, signal }) {
  const found = await request("GET", "insights", { query: { book_id: book.id, days }, signal });
  const { totals, ratings, by_day: byDay } = found;
  root.append(h("dl", { class: "tiles" },
    tile("Questions", totals.asked.toLocaleString("en"), "without greetings and thanks"),
    tile("Without an answer", totals.asked ? percent(totals.refusal_rate) : "–", `${totals.refused} refused. Some may be wrong refusals.`),
    tile("Uncertain", totals.asked ? percent(totals.uncertain_rate) : "–", `refused, or one of ${totals.low_confidence} answers with low confidence`),
    tile("Rated helpful", ratings.share_up === null ? "–" : percent(ratings.share_up), `${ratings.up} up, ${ratings.down} down`)));
  if (found.truncated) root.append(note("There are more questions than can be read at once. The oldest are left out: choose a shorter period."));
  if (!totals.asked) {
    root.append(note("No reader has asked a question in this period. Questions on the command line are not counted."));
    return;
  }
  root.append(volume(byDay), rates(byDay));
}

const tile = (name, value, text) => h("div", {}, h("dt", {}, name), h("dd", {}, h("b", {}, value), h("span", {}, text)));

const sure = (figures) => figures.answered - figures.low_confidence;
const other = (figures) => figures.blocked + figures.interrupted;

function volume(byDay) {
  const series = [
    { name: "Answered", color: "good" }, { name: "Low confidence", color: "fair" },
    { name: "Without an answer", color: "bad" }, ...(byDay.some(other) ? [{ name: "Blocked or interrupted", color: "plain" }] : [])];
  const points = byDay.map((figures) => ({ label: day(figures.date),
    values: [sure(figures), figures.low_confidence, figures.refused, other(figures)].slice(0, series.length) }));
  const columns = [{ title: "Day (UTC)", short: true }, ...["Asked", "Answered", "Low conf.", "No answer", "Other"].slice(0, series.length + 1).map((title) => ({ title, number: true }))];
  const rows = byDay.map((figures, at) => [day(figures.date), figures.asked, ...points[at].values].map(String)).reverse();
  return section("Questions per day", h("div", { class: "figure" },
    barChart("Questions per day by outcome. The table has the figures.", series, points),
    table("Questions per day", columns, rows)));
}

function rates(byDay) {
  const size = byDay.length >= WEEKS_FROM_DAYS ? 7 : 1;
  const buckets = [];
  for (let end = byDay.length; end >= size; end -= size) buckets.unshift(merged(byDay.slice(end - size, end)));
  const series = [{ name: "Without an answer", color: "bad" }, { name: "Uncertain", color: "accent" }];
  const points = buckets.map((bucket) => ({ label: day(bucket.date),
    values: bucket.asked ? [bucket.refused / bucket.asked, (bucket.refused + bucket.low_confidence) / bucket.asked] : [null, null] }));
  const rows = buckets.map((bucket, at) => [day(bucket.date), String(bucket.asked),
    ...points[at].values.map((value) => (value === null ? "–" : percent(value)))]).reverse();
  const columns = [{ title: size === 7 ? "Week from" : "Day (UTC)", short: true },
    ...["Asked", "No answer", "Uncertain"].map((title) => ({ title, number: true }))];
  const title = size === 7 ? "Refusals and uncertain answers per week" : "Refusals and uncertain answers per day";
  return section(title,
    h("p", { class: "soft" }, "Uncertain means: refused, or answered with low confidence. A few questions say little: read the rate with the number asked."),
    h("div", { class: "figure" }, lineChart(`${title}. The table has the figures.`, series, points), table(title, columns, rows)));
}

function merged(days) {
  const sum = (name) => days.reduce((total, figures) => total + figures[name], 0);
  return { date: days[0].date, asked: sum("asked"), refused: sum("refused"), low_confidence: sum("low_confidence") };
}
