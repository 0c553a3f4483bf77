"""The chat page and the widget, in a real browser against a real service."""

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest
from playwright.async_api import Page, Route, expect

from tests.support.scripted_http import Reply, routed, scripted
from tests.support.scripted_model import says
from tests.support.served import Served, served
from tests.support.small_book import settings_for

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

VALVE = "When does the irrigation valve open?"
TRUE = "The irrigation valve opens when the soil moisture stays below 30 percent for ten minutes. [1]"
ATTACK = "<img src=x onerror='window.pwned = 1'> Who won the football world cup?"

expect.set_options(timeout=60_000)


@pytest.fixture
async def site(tmp_path: Path, small_book: Path) -> AsyncIterator[Served]:
    async with served(settings_for(tmp_path / "data"), small_book) as site:
        yield site


async def ask(page: Page, question: str) -> None:
    await page.get_by_label("Your question").fill(question)
    await page.keyboard.press("Enter")


async def test_an_answer_shows_its_sources_and_a_mark_points_to_its_own(page: Page, site: Served) -> None:
    await page.goto(site.url)
    await expect(page).to_have_title("Robots in the Greenhouse · Bookwise")
    await ask(page, VALVE)
    answer = page.locator("article")
    await expect(answer).to_contain_text("below 30 percent")
    sources = page.get_by_role("list", name="Sources")
    await expect(sources.get_by_role("link").first).to_have_attribute(
        "href", re.compile("^https://greenhouse.example/")
    )
    number = await page.locator(".mark").first.inner_text()
    await page.locator(".mark").first.click()
    await expect(sources.locator("li.pointed")).to_contain_text(number)


MARKED = """🧂🧂 **Salt. Yeast `is`** slow.

1. Mix <b>it</b>
   well. [1]

```sh
knead
  bake
```

| a | b |
|---|---|
| c | d |"""
HIGHLIGHTS = ("Yeast `is`** slow.", "Mix <b>it</b>\n   well.", "bake", "c | d")


async def test_what_answers_is_marked_when_the_answer_is_complete_and_other_sections_follow(
    page: Page, site: Served
) -> None:
    ranges = [{"start": MARKED.index(part), "end": MARKED.index(part) + len(part)} for part in HIGHLIGHTS]
    related = [
        {"title": "Drip › Spray", "url": "https://greenhouse.example/drip", "line": "Spray <i>wets</i> leaves."},
        {"title": "Attack", "url": "javascript:window.pwned=1", "line": "Never a link."},
    ]
    done = {"response": MARKED, "outcome": "answered", "sources": [], "highlights": ranges, "related": related}
    events = f"event: content\ndata: {json.dumps({'delta': MARKED})}\n\nevent: done\ndata: {json.dumps(done)}\n\n"
    await page.route("**/chat/stream", lambda route: route.fulfill(body=events, content_type="text/event-stream"))
    await page.goto(site.url)
    await ask(page, VALVE)
    await expect(page.get_by_role("list", name="See also").get_by_role("listitem")).to_have_text(
        ["Drip › Spray: Spray <i>wets</i> leaves.", "Attack: Never a link."]
    )
    await expect(page.get_by_role("list", name="See also").get_by_role("link")).to_have_count(1)
    assert "".join(await page.locator("mark").all_inner_texts()) == "Yeast `is` slow.Mix <b>it</b> well.bakecd"
    assert not re.search("[\ufdd0\ufdd1]", await page.locator("article").inner_text())
    await expect(page.locator("mark .mark, article i, article b")).to_have_count(0)


async def test_a_thread_is_there_again_after_a_reload_and_can_be_rated_and_left(page: Page, site: Served) -> None:
    await page.goto(site.url)
    await ask(page, VALVE)
    await expect(page.get_by_role("button", name="Not helpful")).to_be_visible()
    await page.reload()
    await expect(page.locator("article")).to_contain_text("below 30 percent")
    await expect(page.locator("mark").first).to_contain_text("below 30 percent")
    await page.get_by_role("button", name="Helpful", exact=True).click()
    await expect(page.get_by_role("button", name="Helpful", exact=True)).to_have_attribute("aria-pressed", "true")
    await page.get_by_role("button", name="New").click()
    await expect(page.locator("article")).to_have_count(0)
    await page.reload()
    await expect(page.get_by_text("Ask anything about this book")).to_be_visible()


async def test_a_question_asked_before_the_page_has_loaded_keeps_its_answer(
    page: Page, tmp_path: Path, small_book: Path
) -> None:
    asked = anyio.Event()

    async def list_books_late(route: Route) -> None:
        await asked.wait()
        await route.continue_()

    async with (
        scripted(says(TRUE, delay=1.5)) as model,
        served(settings_for(tmp_path / "data", model_url=model.url), small_book) as site,
    ):
        await page.route("**/books", list_books_late)
        await page.goto(site.url)
        await ask(page, VALVE)
        await anyio.sleep(0.5)  # a question that does not wait is being answered now
        asked.set()
        await expect(page.get_by_role("heading", name="Robots")).to_be_visible()
        await expect(page.locator(".facts")).to_be_visible()
        await expect(page.locator(".question")).to_have_text(VALVE)


async def test_a_refusal_names_the_nearest_lessons_and_claims_nothing(page: Page, site: Served) -> None:
    await page.goto(site.url)
    await ask(page, "Who won the football world cup of 1998?")
    await expect(page.get_by_text("The book does not say")).to_be_visible()
    await expect(page.get_by_role("list", name="Sources")).to_have_count(0)


async def test_what_a_reader_or_a_model_writes_is_shown_and_never_run(
    page: Page, tmp_path: Path, small_book: Path
) -> None:
    bad = says(TRUE, " <script>window.pwned = 2</script> [look](javascript:window.pwned=3) <b onclick='x'>bold</b>")
    async with (
        scripted(bad) as model,
        served(settings_for(tmp_path / "data", model_url=model.url, unsupported="mark"), small_book) as site,
    ):
        await page.goto(site.url)
        await ask(page, ATTACK)
        await expect(page.locator(".question")).to_have_text(ATTACK)
        await expect(page.locator(".facts")).to_be_visible()
        await ask(page, VALVE)
        await expect(page.locator("article").nth(1)).to_contain_text("<script>")
    assert await page.evaluate("window.pwned") is None
    assert await page.locator("article script, article b, article img, article a[href^=javascript]").count() == 0


async def test_where_a_key_is_needed_the_page_asks_for_one(page: Page, tmp_path: Path, small_book: Path) -> None:
    async with served(settings_for(tmp_path / "data"), small_book, open_to_anyone=False) as site:
        await page.goto(site.url)
        await page.get_by_label("API key").fill("bw_wrong")
        await page.keyboard.press("Enter")
        await expect(page.get_by_text("needs an API key")).to_have_count(2)
        await page.get_by_label("API key").fill(await site.key())
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("heading", name="Robots in the Greenhouse")).to_be_visible()
        await ask(page, VALVE)
        await expect(page.locator("article")).to_contain_text("below 30 percent")


async def test_a_page_that_is_open_when_keys_come_into_use_asks_for_one(page: Page, site: Served) -> None:
    await page.goto(site.url)
    await expect(page.get_by_role("heading", name="Robots")).to_be_visible()
    await ask(page, VALVE)
    await expect(page.locator("article")).to_contain_text("below 30 percent")
    site.service.open_to_anyone = False
    await ask(page, VALVE)
    await page.get_by_label("API key").fill(await site.key())
    await page.keyboard.press("Enter")
    await ask(page, VALVE)
    await expect(page.locator("article").last).to_contain_text("below 30 percent")
    await expect(page.get_by_role("alert")).to_have_count(0)


async def test_a_lost_connection_is_told_and_the_next_question_works(page: Page, site: Served) -> None:
    await page.goto(site.url)
    await expect(page.get_by_role("heading", name="Robots")).to_be_visible()
    await page.context.set_offline(True)
    await ask(page, VALVE)
    await expect(page.get_by_role("alert")).to_contain_text("The connection was lost.")
    await page.context.set_offline(False)
    await ask(page, VALVE)
    await expect(page.locator("article")).to_contain_text("below 30 percent")


async def test_the_widget_asks_from_the_site_of_the_book_with_a_key_bound_to_it(
    page: Page, tmp_path: Path, small_book: Path
) -> None:
    pages: dict[str, Reply] = {"/favicon.ico": Reply(status=404)}
    async with (
        routed(pages) as book,
        served(settings_for(tmp_path / "data"), small_book, open_to_anyone=False) as site,
    ):
        _, key = await site.service.keys.create("widget", "reader", books=["book"], origins=[book.url])
        pages["/lesson"] = _page(f'<script src="{site.url}/widget.js" data-key="{key}" data-book="book"></script>')
        await page.goto(f"{book.url}/lesson")
        await page.get_by_role("button", name="Ask the book").click()
        await ask(page, VALVE)
        await expect(page.locator("article")).to_contain_text("below 30 percent")
        await page.keyboard.press("Escape")
        await expect(page.get_by_role("dialog")).to_be_hidden()
        await expect(page.get_by_role("button", name="Ask the book")).to_be_focused()


async def test_a_site_that_the_key_is_not_bound_to_gets_nothing(page: Page, tmp_path: Path, small_book: Path) -> None:
    pages: dict[str, Reply] = {"/favicon.ico": Reply(status=404)}
    async with (
        routed(pages) as thief,
        served(settings_for(tmp_path / "data"), small_book, open_to_anyone=False) as site,
    ):
        _, key = await site.service.keys.create("widget", "reader", origins=["https://greenhouse.example"])
        pages["/copied"] = _page(f'<script src="{site.url}/widget.js" data-key="{key}"></script>')
        await page.goto(f"{thief.url}/copied")
        await page.get_by_role("button", name="Ask the book").click()
        await expect(page.get_by_role("alert")).to_be_visible()
        await expect(page.get_by_role("heading", name="Robots")).to_have_count(0)


def _page(widget: str) -> Reply:
    html = f"<!doctype html><html lang=en><title>A lesson</title><h1>Lesson</h1>{widget}</html>"
    return Reply(body=html.encode(), headers={"Content-Type": "text/html"})
