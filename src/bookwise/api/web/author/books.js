// The books of the service and their ingestion jobs.

import { request } from "./client.js";
import { announce, button, confirmed, h, moment, plural, problem, section, table, update } from "./elements.js";

const BUSY_MS = 1_000, IDLE_MS = 15_000;
const isActive = (job) => job.status === "queued" || job.status === "running";

export async function render(root, context) {
  const errors = h("div", {}), lost = h("div", {}), books = h("div", {}), jobs = h("div", {}), lessons = h("div", {});
  root.append(errors, lost, section("Books", books), section("Ingestion jobs", jobs), lessons);
  const attempt = async (work, place = errors) => {
    try {
      await work();
      place.replaceChildren();
    } catch (error) {
      if (error.name !== "AbortError") place.replaceChildren(problem(error));
    }
  };
  let timer, isActiveNow = false, opened = null;
  context.signal.addEventListener("abort", () => clearTimeout(timer));
  /** Shows the jobs, and again after a while: also when this attempt fails. */
  const refresh = async () => {
    clearTimeout(timer);
    try {
      await showJobs();
    } finally {
      clearTimeout(timer); // of a refresh at the same time
      if (!context.signal.aborted) timer = setTimeout(() => attempt(refresh, lost), isActiveNow ? BUSY_MS : IDLE_MS);
    }
  };
  const showJobs = async () => {
    const found = await request("GET", "ingestion/jobs", { signal: context.signal });
    update(jobs, jobTable(found.jobs, view));
    const wasActive = isActiveNow;
    isActiveNow = found.jobs.some(isActive);
    if (opened && (isActiveNow || wasActive)) await showLessons();
    if (wasActive && !isActiveNow) await listBooks();
  };
  const listBooks = async () => {
    const found = await request("GET", "books", { signal: context.signal });
    update(books, bookTable(found.books, view));
  };
  const showLessons = async () => {
    const job = opened;
    const found = await outcomes(job, context.signal);
    if (job === opened) update(lessons, found); // else another job was chosen meanwhile
  };
  const view = {
    ingest: (book, mode) => attempt(async () => {
      const job = await request("POST", "ingestion/trigger", { body: { book_id: book.id, mode } });
      announce(`Job ${job.job_id} for ${book.title} has started. Its progress is in the list of ingestion jobs.`);
      await refresh();
    }),
    remove: (book) => attempt(async () => {
      const text = `All ${plural(book.lessons, "lesson")} leave the index and readers can no longer ask. Sessions, questions and the source files stay.`;
      if (!(await confirmed(`Remove “${book.title}”?`, text, "Remove the book"))) return;
      await request("DELETE", `books/${encodeURIComponent(book.id)}`);
      announce(`${book.title} was removed.`);
      await context.reload();
    }),
    cancel: (job) => attempt(async () => { await request("POST", `ingestion/jobs/${job.job_id}/cancel`); await refresh(); }),
    outcomes: (job) => attempt(async () => {
      opened = job;
      await showLessons();
      lessons.firstChild.focus();
    }),
  };
  await listBooks();
  await refresh();
}

function bookTable(books, view) {
  const columns = [{ title: "Book", short: true }, { title: "Lessons", number: true }, { title: "Chunks", number: true }, { title: "Last ingested", short: true }, { title: "Actions" }];
  return table("Books", columns, books.map((book) => [
    [h("b", {}, book.title), h("div", { class: "soft" }, book.id)], String(book.lessons), book.chunks.toLocaleString("en"), moment(book.last_ingested),
    h("div", { class: "actions" },
      button("Ingest changes", () => view.ingest(book, "incremental"), { "aria-label": `Ingest the changes of ${book.title}` }),
      button("Ingest all", () => view.ingest(book, "full"), { "aria-label": `Ingest all of ${book.title}` }),
      button("Remove", () => view.remove(book), { class: "danger", "aria-label": `Remove ${book.title}` }))]), { empty: "There is no book yet. Run `bookwise ingest`.", cards: true });
}

function jobTable(jobs, view) {
  const columns = [{ title: "Job", short: true }, { title: "Book" }, { title: "Status" }, { title: "Lessons", short: true },
    { title: "Warnings" }, { title: "Started", short: true }, { title: "Actions" }];
  return table("Ingestion jobs", columns, jobs.map((job) => [
    `${job.job_id} ${job.mode}`, job.book_id, status(job), progress(job), warnings(job), moment(job.started_at),
    h("div", { class: "actions" },
      isActive(job) && button("Cancel", () => view.cancel(job), { "aria-label": `Cancel job ${job.job_id}` }),
      button("Lessons", () => view.outcomes(job), { "aria-label": `Lessons of job ${job.job_id}` }))]), { empty: "No job has run yet.", cards: true });
}

const status = (job) => h("span", { class: `state ${job.status}` }, job.status);

function progress(job) {
  const done = job.files_processed + job.files_skipped;
  const text = job.total_files ? `${done} of ${job.total_files}` : job.status === "queued" ? "waiting" : "reading the source";
  if (!isActive(job)) return `${job.files_processed} published, ${job.files_skipped - job.files_failed} unchanged` + (job.files_withdrawn ? `, ${job.files_withdrawn} withdrawn` : "");
  return [h("progress", { max: job.total_files || 1, value: job.total_files ? done : null, "aria-label": `Progress of job ${job.job_id}` }), ` ${text}`];
}

function warnings(job) {
  const found = [job.files_failed && plural(job.files_failed, "lesson") + " failed", job.warnings.length > 0 && plural(job.warnings.length, "warning"), job.attempt > 1 && `attempt ${job.attempt}`, job.error_message];
  return found.filter(Boolean).join("; ") || "–";
}

async function outcomes(job, signal) {
  const { job: current, lessons } = await request("GET", `ingestion/status/${job.job_id}`, { signal });
  const order = [...lessons].sort((a, b) => (b.status === "failed") - (a.status === "failed"));
  const rows = order.map((one) => [one.source_file, h("span", { class: `state ${one.status}` }, one.status), [one.reason, one.message].filter(Boolean).join(": ") || "–"]);
  const warned = current.warnings.length > 0 && h("ul", { class: "note warnings", "aria-label": "Warnings", tabindex: "0" }, ...current.warnings.map((text) => h("li", {}, text)));
  const found = section(`Lessons of job ${job.job_id}`, warned, table("Lessons", [{ title: "File" }, { title: "Outcome" }, { title: "Message" }], rows,
    { empty: isActive(current) ? "No lesson has an outcome yet." : "No lesson was changed." }));
  found.tabIndex = -1;
  return found;
}
