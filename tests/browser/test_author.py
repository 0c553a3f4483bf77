"""The author's view, in a real browser against a real service."""

import csv
import io
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import anyio
import httpx2
import pytest
from playwright.async_api import Page, Route, expect

from bookwise.domain.journal import AskedQuestion, QuotedLesson
from bookwise.domain.validation_runs import FailedQuestion, KindCount, ValidationRun
from tests.browser.axe import accessibility_issues
from tests.support.served import Served, served
from tests.support.small_book import BOOK, settings_for

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

WORLD_CUP = "Who won the football world cup in 1998?"
CANARY = "document.documentElement.dataset.canary = 1"
ATTACK = f"<img src=x onerror='{CANARY}'> \"><svg onload='{CANARY}'> javascript:{CANARY} Who sells the lidar?"
FORMULA = "=HYPERLINK(1)"
OPEN_WHAT_HOLDS_THE_ATTACK = """() => {
  for (const one of document.querySelectorAll("details.group")) one.open = true;
  for (const one of document.querySelectorAll(".questions details")) one.open = one.textContent.includes("onerror");
}"""
VIEWS = ("overview", "unanswered", "low-confidence", "disliked", "lessons", "validation", "books", "keys")

expect.set_options(timeout=60_000)


@dataclass(frozen=True, kw_only=True)
class Author:
    """A service with keys, a book and forty questions about it."""

    site: Served
    admin: str

    async def sign_in(self, page: Page, view: str = "overview", key: str | None = None) -> None:
        await page.goto(f"{self.site.url}/author#{view}")
        await page.get_by_label("Admin key").fill(self.admin if key is None else key)
        await page.keyboard.press("Enter")


def asked(number: int, question: str, **facts: Any) -> AskedQuestion:
    usual: dict[str, Any] = {"outcome": "refused", "reason": "not-in-the-book"}
    return AskedQuestion(
        answer_id=str(uuid4()),
        book_id=BOOK,
        owner="",
        asked_at=datetime.now(UTC) - timedelta(hours=7 * number),
        question=question,
        **usual | facts,
    )


def questions() -> list[AskedQuestion]:
    valves = {"outcome": "answered", "reason": "", "level": "low"}
    lesson = (QuotedLesson(lesson_id="x", title=ATTACK, url="javascript:" + CANARY),)
    return [
        *(asked(number, f"What is a lidar for, in case {number}?") for number in range(1, 30)),
        asked(30, ATTACK),
        asked(31, FORMULA),
        asked(32, "Is the valve loud?", **valves, thumb="down", comment=ATTACK, lessons=lesson),
        *(asked(number, "When does it open?", **valves) for number in range(33, 40)),
    ]


@pytest.fixture
async def author(tmp_path: Path, small_book: Path) -> AsyncIterator[Author]:
    async with served(settings_for(tmp_path / "data"), small_book, open_to_anyone=False, own_index=True) as site:
        _, admin = await site.service.keys.create("the author", "admin", rate_per_minute=10_000)
        headers = {"Authorization": f"Bearer {admin}"}
        async with httpx2.AsyncClient(base_url=site.url, headers=headers, timeout=60) as client:
            (await client.post("/chat/run", json={"message": WORLD_CUP})).raise_for_status()
        for question in questions():
            await site.service.app.journal.note(question)
        for days in range(3):
            await site.service.app.validations.add(validation_run(days))
        yield Author(site=site, admin=admin)


def validation_run(days: int) -> ValidationRun:
    return ValidationRun(
        run_id=str(uuid4()),
        book_id=BOOK,
        ran_at=datetime.now(UTC) - timedelta(days=days),
        engine="extractive",
        own_questions=True,
        asked=10,
        correct=9 - days,
        kinds=(KindCount(kind="answerable", asked=10, correct=9 - days),),
        failed=(FailedQuestion(id="price", reason=ATTACK),),
    )


async def test_every_view_is_readable_and_no_text_of_a_reader_becomes_markup(page: Page, author: Author) -> None:
    await author.sign_in(page)
    await expect(page.locator(".tiles dd").first).to_contain_text("40")
    await expect(page.get_by_role("img", name="Questions per day by outcome")).to_be_visible()
    await expect(page.get_by_role("table", name="Questions per day")).to_contain_text("UTC")
    for view in VIEWS:
        await page.goto(f"{author.site.url}/author#{view}")
        await expect(page.locator(".view:not([aria-busy])")).to_be_visible()
        await page.evaluate(OPEN_WHAT_HOLDS_THE_ATTACK)
        await expect(page.get_by_text("Loading…")).to_have_count(0)
        assert await accessibility_issues(page) == [], view
        for width in (390, 1280):
            await page.set_viewport_size({"width": width, "height": 860})
            assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (view, width)
    assert await page.evaluate("document.documentElement.dataset.canary") is None
    assert await page.locator("main img, main svg svg, main [onload], main [href^='javascript']").count() == 0


async def test_a_question_is_read_copied_marked_as_fixed_and_stays_fixed_after_a_reload(
    page: Page, author: Author
) -> None:
    await author.sign_in(page, "unanswered")
    await page.locator("summary", has_text="lidar").first.click()
    await expect(page.get_by_role("button", name="Mark all as fixed: the group lidar")).to_be_visible()
    await page.locator("summary", has_text="other questions").click()
    await page.locator("summary", has_text=WORLD_CUP).click()
    detail = page.locator(".detail")
    await expect(detail.get_by_role("listitem").filter(has_text="Reader")).to_contain_text(WORLD_CUP)
    await expect(detail.locator(".nearest li")).to_have_count(3)
    entry = detail.get_by_label("Entry for bookwise.toml")
    await expect(entry).to_contain_text('kind = "answerable"')
    await detail.get_by_label("The book should").select_option("refuse it")
    await expect(entry).to_contain_text('kind = "near-miss"')
    await expect(entry).to_contain_text(f'text = "{WORLD_CUP}"')
    await page.get_by_role("button", name=f"Mark as fixed: {WORLD_CUP}").click()
    await expect(page.get_by_role("button", name="Fixed (1)")).to_be_visible()
    await page.reload()
    await page.get_by_role("button", name="Fixed (1)").click()
    await expect(page.get_by_text(WORLD_CUP)).to_be_visible()
    await page.get_by_role("button", name=f"Open again: {WORLD_CUP}").click()
    await expect(page.get_by_role("button", name="Fixed (0)")).to_be_visible()


async def test_the_conversation_is_rendered_and_opens_at_the_question(page: Page, author: Author) -> None:
    headers = {"Authorization": f"Bearer {author.admin}"}
    session = str(uuid4())
    async with httpx2.AsyncClient(base_url=author.site.url, headers=headers, timeout=60) as client:
        for message in ["When does the irrigation valve open?"] * 4 + [WORLD_CUP, "And who won it in 2002?"]:
            body = {"message": message, "session_id": session}
            (await client.post("/chat/run", json=body)).raise_for_status()
    await author.sign_in(page, "unanswered")
    await page.locator("details.group").first.wait_for()
    await page.evaluate("for (const one of document.querySelectorAll('details.group')) one.open = true")
    row = page.locator(".questions > li", has_text=WORLD_CUP).first
    await row.locator("summary").click()
    transcript = row.locator(".transcript")
    await expect(transcript.locator("[aria-current]")).to_have_count(2)
    await expect(transcript.locator("[aria-current]").first).to_be_in_viewport()
    await expect(transcript.locator("[aria-current]").first).to_contain_text(WORLD_CUP)
    assert await transcript.evaluate("(list) => list.scrollTop > 0")
    await expect(transcript.locator(".html p").first).to_be_visible()
    assert "**" not in await transcript.inner_text()


async def test_a_late_list_of_questions_does_not_replace_the_one_that_is_open(page: Page, author: Author) -> None:
    late: list[Route] = []

    async def hold(route: Route) -> None:
        late.append(route)

    await author.sign_in(page, "unanswered")
    await page.route("**/author/questions?*status=fixed*", hold)
    await page.get_by_role("button", name="Fixed (0)").click()
    await page.get_by_role("button", name="Ignored (0)").click()
    ignored = page.get_by_role("button", name="Ignored (0)")
    await expect(ignored).to_have_attribute("aria-pressed", "true")
    async with page.expect_response("**/author/questions?*status=fixed*") as response:
        await late[0].continue_()
    await (await response.value).finished()
    await page.wait_for_load_state("networkidle")
    await expect(ignored).to_have_attribute("aria-pressed", "true")


async def test_jobs_are_shown_again_after_a_lost_connection_and_the_focus_stays(page: Page, author: Author) -> None:
    await page.clock.install()
    await author.sign_in(page, "books")
    jobs = page.get_by_role("table", name="Ingestion jobs").get_by_role("row")
    await expect(jobs).to_have_count(2)
    await page.get_by_role("button", name="Lessons of job 1").focus()
    await page.route("**/ingestion/jobs", lambda route: route.abort())
    await page.clock.run_for(16_000)
    await expect(page.get_by_role("alert")).to_contain_text("The service is not reachable.")
    await page.unroute("**/ingestion/jobs")
    headers = {"Authorization": f"Bearer {author.admin}"}
    async with httpx2.AsyncClient(base_url=author.site.url, headers=headers, timeout=60) as client:
        (await client.post("/ingestion/trigger", json={"book_id": BOOK, "mode": "full"})).raise_for_status()
    await page.clock.run_for(16_000)
    await expect(jobs).to_have_count(3)
    await expect(page.get_by_role("alert")).to_have_count(0)
    await expect(page.get_by_role("button", name="Lessons of job 1")).to_be_focused()


async def test_the_chosen_book_and_period_stay_after_a_reload_and_no_questions_are_no_rate(
    page: Page, author: Author
) -> None:
    await author.sign_in(page)
    await page.get_by_label("Period").select_option("7 days")
    await expect(page.get_by_role("heading", name="Refusals and uncertain answers per day")).to_be_visible()
    await page.reload()
    await expect(page.get_by_label("Period")).to_have_value("7")
    await expect(page.get_by_role("heading", name="Refusals and uncertain answers per day")).to_be_visible()
    empty = {"asked": 0, "answered": 0, "refused": 0, "low_confidence": 0, "refusal_rate": 0, "uncertain_rate": 0}

    async def without_questions(route: Route) -> None:
        response = await route.fetch()
        body = await response.json()
        await route.fulfill(response=response, json={**body, "totals": {**body["totals"], **empty}, "by_day": []})

    await page.route("**/insights?*", without_questions)
    await page.reload()
    await expect(page.get_by_text("No reader has asked a question in this period.")).to_be_visible()
    await expect(page.locator(".tiles b")).to_have_text(["0", "–", "–", "–"])


async def test_the_export_has_every_question_and_no_formula(page: Page, author: Author) -> None:
    await author.sign_in(page)
    async with page.expect_download() as downloading:
        await page.get_by_role("button", name="Export CSV").click()
    download = await downloading.value
    assert download.suggested_filename == f"{BOOK}-questions.csv"
    text = await anyio.Path(await download.path()).read_text(encoding="utf-8-sig")
    cells = [row[1] for row in csv.reader(io.StringIO(text))]
    assert len(cells) == 41
    assert f"'{FORMULA}" in cells


@pytest.fixture
def lesson_without_its_code(small_book: Path) -> Iterator[Path]:
    lesson = small_book.with_name("book") / "listing.md"
    lesson.write_text("# Listing\n\nRun this program:\n\n{{#include <b>.rs}}\n")
    yield lesson
    lesson.unlink()


async def test_a_book_is_ingested_again_with_its_progress_and_removed_after_a_confirmation(
    page: Page, author: Author, lesson_without_its_code: Path
) -> None:
    await author.sign_in(page, "books")
    jobs = page.get_by_role("table", name="Ingestion jobs").get_by_role("row")
    await expect(jobs).to_have_count(2)
    await page.set_viewport_size({"width": 390, "height": 500})  # the list of jobs is far below
    await page.get_by_role("button", name="Ingest all of").click()
    await expect(page.get_by_role("status")).to_contain_text("Job 2 for Robots")
    await expect(page.get_by_role("status")).to_be_in_viewport(ratio=1)
    await page.set_viewport_size({"width": 1280, "height": 720})
    await expect(jobs).to_have_count(3)
    await expect(jobs.nth(1)).to_contain_text("4 published")
    await expect(jobs.nth(1)).to_contain_text("1 warning")
    await page.get_by_role("button", name="Lessons of job 2").click()
    await expect(page.get_by_role("table", name="Lessons")).to_contain_text("published")
    await expect(page.get_by_role("list", name="Warnings")).to_contain_text(
        "listing.md: 1 include was left out. It is <b>.rs"
    )
    await page.get_by_role("button", name="Remove Robots").click()
    await page.get_by_role("button", name="Cancel", exact=True).click()
    assert len(await author.site.service.app.catalog.books()) == 1
    await page.get_by_role("button", name="Remove Robots").click()
    await page.get_by_role("button", name="Remove the book").click()
    await expect(page.get_by_text("There is no book yet")).to_be_visible()
    assert await author.site.service.app.catalog.books() == []


async def test_every_button_of_a_running_job_can_be_seen(page: Page, author: Author) -> None:
    counts = {"total_files": 1290, "files_processed": 1180, "files_skipped": 60, "files_failed": 3, "attempt": 2}
    names = {"book_id": "physical-ai-and-humanoid-robotics", "mode": "incremental", "status": "running"}
    job = {"job_id": 17, "started_at": "2026-11-17T10:00:00Z", "warnings": [], **names, **counts}

    async def running(route: Route) -> None:
        await route.fulfill(json={"jobs": [job]})

    await page.route("**/ingestion/jobs", running)
    await page.set_viewport_size({"width": 1280, "height": 720})
    await author.sign_in(page, "books")
    await expect(page.get_by_role("button", name="Cancel job")).to_be_visible()
    hidden = "(one) => one.getBoundingClientRect().right - one.closest('.scroll').getBoundingClientRect().right"
    assert await page.get_by_role("button", name="Lessons of job").evaluate(hidden) < 0


async def test_a_secret_is_shown_once_and_a_revoked_key_no_longer_works(page: Page, author: Author) -> None:
    await author.sign_in(page, "keys")
    await page.get_by_label("Name").fill("course site")
    await page.get_by_role("button", name="Create key").click()
    secret = await page.locator(".note code").inner_text()
    assert await author.site.service.keys.key(secret) is not None
    await page.reload()
    await expect(page.get_by_role("table", name="Keys")).to_contain_text("course site")
    await expect(page.get_by_text(secret)).to_have_count(0)
    await page.get_by_role("button", name="Revoke course site").click()
    await page.get_by_role("button", name="Revoke the key").click()
    await expect(page.get_by_role("table", name="Keys")).to_contain_text("revoked")
    assert await author.site.service.keys.key(secret) is None


async def test_a_reader_key_and_a_wrong_key_are_refused_with_the_reason(page: Page, author: Author) -> None:
    await author.sign_in(page, key=await author.site.key())
    await expect(page.get_by_role("alert")).to_have_text(
        "This is a reader key. The author's view needs a key with the role admin."
    )
    _, elsewhere = await author.site.service.keys.create("site", "admin", origins=["https://book.example"])
    await page.get_by_label("Admin key").fill(elsewhere)
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("alert")).to_have_text("This site may not use this API key.")
    await page.get_by_label("Admin key").fill("bw_wrong")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("alert")).to_contain_text("key")
    await page.get_by_label("Admin key").fill(author.admin)
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="Overview")).to_be_visible()


async def test_where_questions_are_not_kept_the_page_says_so(page: Page, tmp_path: Path, small_book: Path) -> None:
    async with served(settings_for(tmp_path / "data", keep_questions=False), small_book) as site:
        await page.goto(f"{site.url}/author#unanswered")
        await expect(page.get_by_text("does not store the text of questions")).to_be_visible()
