"""The chat page in a real browser against a real service."""

import json
import re
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, Route, expect

from tests.browser.axe import accessibility_issues
from tests.support.scripted_http import scripted
from tests.support.scripted_model import chunk, dripping, says
from tests.support.served import Served, served
from tests.support.small_book import settings_for

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

VALVE = "When does the irrigation valve open?"
FOLLOW_UP = "And when does it close?"
TRUE = "The irrigation valve opens when the soil moisture stays below 30 percent for ten minutes. [1]"
ATTACK = "<img src=x onerror='window.pwned = 1'> Who won the football world cup?"
GREENHOUSE = "Robots in the Greenhouse"
BREAD = "Bread at Home"

expect.set_options(timeout=40_000)


async def ask(page: Page, question: str) -> None:
    """Asks when the answer before is complete: until then the page takes no question."""
    await expect(page.get_by_role("button", name="Ask", exact=True)).to_be_visible()
    await page.get_by_label("Your question").fill(question)
    await page.keyboard.press("Enter")


async def open_book(page: Page, site: Served, title: str = GREENHOUSE, **query: str) -> None:
    await page.goto(site.url + ("?" + "&".join(f"{k}={v}" for k, v in query.items()) if query else ""))
    await page.get_by_label("Book", exact=True).select_option(label=title)
    await expect(page).to_have_title(f"{title} · Bookwise")


async def require_certainty(route: Route) -> None:
    """No passage is similar enough, so the question is refused with the nearest sections."""
    body = {**json.loads(route.request.post_data or "{}"), "similarity_threshold": 1.0}
    await route.continue_(post_data=json.dumps(body))


async def shown_thread(page: Page) -> list[str]:
    """Everything that must look the same after a reload."""
    answers = page.locator(".bw-exchange")
    return [await answers.nth(at).inner_html() for at in range(await answers.count())]


async def test_a_reader_asks_follows_a_citation_and_comes_back(page: Page, site: Served) -> None:
    await open_book(page, site)
    await expect(page.get_by_role("heading", name=GREENHOUSE)).to_be_visible()
    await expect(page.get_by_label("Your question")).to_be_focused()
    await expect(page.get_by_role("list", name="Questions to start with").get_by_role("button")).to_have_count(4)
    assert await accessibility_issues(page) == []
    await ask(page, VALVE)
    answer = page.locator("article")
    await expect(answer.locator("mark").first).to_contain_text("below 30 percent")
    await expect(page.get_by_text("The book answers this")).to_be_visible()
    await page.get_by_text("The book answers this").click()
    await expect(page.get_by_text("nine in ten")).to_be_visible()
    chip = answer.locator("sup").get_by_role("button", name=re.compile("^Source 1, Irrigation"))
    await chip.click()
    panel = page.get_by_role("complementary", name="Sources")
    await expect(panel.locator("mark").first).to_contain_text("below 30 percent")
    await expect(panel.get_by_role("heading", name=re.compile("^1 · Irrigation"))).to_be_focused()
    link = panel.get_by_role("link", name="Open in the book")
    await expect(link).to_have_attribute(
        "href", re.compile("^https://greenhouse.example/.*#.*:~:text=The%20irrigation")
    )
    assert await accessibility_issues(page) == []
    await page.keyboard.press("Escape")
    await expect(panel).to_be_hidden()
    await expect(chip).to_be_focused()
    await ask(page, FOLLOW_UP)
    await expect(page.locator("article").nth(1).locator(".bw-tools")).to_be_visible()
    await expect(page.locator("article").nth(1)).to_contain_text("45 percent")
    await expect(page.locator("article").nth(1)).to_contain_text(f"Searched for: {FOLLOW_UP} (")
    before = await shown_thread(page)
    await page.reload()
    await expect(page.locator("article").nth(1).locator(".bw-tools")).to_be_visible()
    await expect(page.get_by_label("Book", exact=True)).to_have_value("book")
    assert [html.replace(' open=""', "") for html in before] == await shown_thread(page)


async def test_conversations_are_renamed_resumed_and_deleted_and_answers_are_rated(page: Page, site: Served) -> None:
    await open_book(page, site)
    await ask(page, VALVE)
    await page.get_by_role("button", name="Not helpful").click()
    await page.get_by_label("Incomplete").check()
    await page.get_by_label("Comment").fill("I use Windows.")
    assert await accessibility_issues(page) == []
    await page.get_by_role("button", name="Send", exact=True).click()
    await expect(page.get_by_text("Thank you.").last).to_be_visible()
    await page.get_by_role("button", name="New", exact=True).click()
    await expect(page.locator("article")).to_have_count(0)
    threads = page.get_by_role("navigation", name="Conversations")
    await threads.get_by_role("button", name=f"Rename: {VALVE}").click()
    await threads.get_by_label("Title").fill("Valves")
    await page.keyboard.press("Enter")
    await page.reload()
    await expect(page.locator(".bw-empty")).to_be_visible()
    await threads.get_by_role("button", name="Valves", exact=True).click()
    await expect(page.locator("article")).to_contain_text("below 30 percent")
    await threads.get_by_role("button", name="Delete: Valves").click()
    await threads.get_by_role("button", name="Delete", exact=True).click()
    await expect(threads.get_by_text("Your conversations appear here.")).to_be_visible()
    await expect(page.locator("article")).to_have_count(0)


async def test_a_refusal_says_what_the_book_covers_and_another_language_is_named(page: Page, site: Served) -> None:
    await open_book(page, site)
    await ask(page, "Who won the football world cup of 1998?")
    await expect(page.locator("article")).to_contain_text("I couldn't find that information in the book.")
    await expect(page.get_by_text("No answer found in this book")).to_be_visible()
    await expect(page.get_by_role("list", name="Sources")).to_have_count(0)
    await ask(page, "Wann öffnet sich das Ventil der Bewässerung und warum?")
    await expect(page.locator("article").nth(1).locator(".bw-text")).to_have_text("I can only answer in English.")
    await page.route("**/chat/stream", require_certainty)
    await ask(page, VALVE)
    near = page.locator("article").nth(2)
    await expect(near).to_contain_text("I couldn't find that information in the book.")
    await expect(near).to_contain_text("The book covers “When the valve opens” in “Irrigation”: open it.")
    await near.get_by_role("button", name=re.compile("^open it: Source 1, Irrigation")).click()
    await expect(page.get_by_role("complementary", name="Sources")).to_contain_text("45 percent")
    assert await accessibility_issues(page) == []


async def test_a_choice_is_answered_from_its_lesson_under_the_words_of_the_reader(page: Page, site: Served) -> None:
    await open_book(page, site)
    await ask(page, "How do I install it?")
    choices = page.locator(".bw-choices").get_by_role("button")
    await choices.first.focus()
    await page.keyboard.press("ArrowDown")
    await expect(choices.nth(1)).to_be_focused()
    await choices.filter(has_text="Irrigation").click()
    exchange = page.locator(".bw-exchange").nth(1)
    await expect(exchange.get_by_role("heading").first).to_have_text("How do I install it?")
    await expect(exchange).to_contain_text("greenhouse-irrigation")
    await expect(exchange.locator(".bw-tools")).to_be_visible()
    before = await shown_thread(page)
    await page.reload()
    await expect(page.locator(".bw-tools")).to_have_count(2)
    assert await shown_thread(page) == before


async def test_a_screen_reader_hears_what_kind_of_answer_there_is(page: Page, site: Served) -> None:
    await open_book(page, site)
    for question, heard in (
        ("How do I install it?", "Several lessons match your question. Which one do you mean?"),
        (VALVE, re.compile(r"^Answer ready, \d sources?\.$")),
        ("Who won the football world cup of 1998?", "The book has no answer."),
        ("Wann öffnet sich das Ventil der Bewässerung und warum?", "I can only answer in English."),
        ("Hello!", re.compile("^I answer questions about")),
    ):
        await ask(page, question)
        await expect(page.get_by_role("status")).to_have_text(heard)


async def test_a_lost_connection_keeps_the_question_and_can_be_retried(page: Page, site: Served) -> None:
    await open_book(page, site)

    async def break_off(route: Route) -> None:
        event = {"delta": "The irrigation", "keep": 0, "html": "<p>The irrigation</p>"}
        body = f"event: content\ndata: {json.dumps(event)}\n\n"
        await route.fulfill(body=body, content_type="text/event-stream")

    await page.route("**/chat/stream", break_off)
    await ask(page, VALVE)
    problem = page.get_by_role("alert")
    await expect(problem).to_contain_text("The connection was lost.")
    await expect(page.locator("article")).to_contain_text("The irrigation")
    await expect(page.get_by_label("Your question")).to_have_value(VALVE)
    assert await accessibility_issues(page) == []
    await page.unroute("**/chat/stream")
    await page.context.set_offline(True)
    await problem.get_by_role("button", name="Retry").click()
    await expect(problem).to_contain_text("The connection was lost.")
    await page.context.set_offline(False)
    await problem.get_by_role("button", name="Retry").click()
    await expect(page.locator("article mark").first).to_contain_text("below 30 percent")
    await expect(page.get_by_label("Your question")).to_have_value("")
    await expect(page.locator(".bw-exchange")).to_have_count(1)


async def test_books_without_a_site_on_a_phone_keep_their_threads_and_open_lessons(
    browser: Browser, site: Served
) -> None:
    context = await browser.new_context(viewport={"width": 390, "height": 780}, color_scheme="dark", has_touch=True)
    page = await context.new_page()
    await open_book(page, site, BREAD)
    await page.get_by_role("button", name="How much salt goes into the dough?").click()
    await expect(page.locator("article mark").first).to_contain_text("Ten grams of salt")
    await expect(page.get_by_text("rocket")).to_have_count(0)
    await page.locator(".bw-chip").first.click()
    panel = page.get_by_role("complementary", name="Sources")
    await expect(panel.locator("mark").first).to_be_visible()
    box = await panel.bounding_box()
    assert box is not None
    assert (box["width"], round(box["y"] + box["height"])) == (390, 780)
    assert await accessibility_issues(page) == []
    await expect(panel.get_by_role("link", name="Open in the book")).to_have_count(0)
    address = await panel.get_by_role("link", name="Read the lesson").get_attribute("href")
    await panel.get_by_role("button", name="Close").click()
    await page.get_by_label("Book", exact=True).select_option(label=GREENHOUSE)
    await expect(page.locator(".bw-empty")).to_be_visible()
    await page.get_by_label("Book", exact=True).select_option(label=BREAD)
    await expect(page.locator("article mark").first).to_contain_text("Ten grams of salt")
    assert await page.evaluate("() => document.documentElement.scrollWidth") <= 390
    await page.goto(str(address))
    await expect(page.get_by_role("heading", name="The dough", level=1)).to_be_visible()
    await expect(page.locator("mark").first).to_contain_text("Ten grams of salt")
    assert await accessibility_issues(page) == []
    await page.get_by_role("link", name="Baking →").click()
    await expect(page.get_by_role("heading", name="Baking", level=1)).to_be_visible()
    await expect(page.get_by_role("link", name="← The dough")).to_be_visible()
    await context.close()


async def test_the_keyboard_is_enough(page: Page, site: Served) -> None:
    await page.goto(f"{site.url}?book=book")
    await expect(page.get_by_label("Your question")).to_be_focused()
    await page.locator(".bw-starters button").first.focus()
    await page.keyboard.press("ArrowDown")
    await expect(page.locator(".bw-starters button").nth(1)).to_be_focused()
    await page.keyboard.press("Control+k")
    await page.keyboard.type(VALVE)
    await page.keyboard.press("Enter")
    await expect(page.locator(".bw-tools")).to_be_visible()
    await page.locator(".bw-chip").first.focus()
    await page.keyboard.press("Enter")
    await expect(page.locator(".bw-panel-title")).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(page.locator(".bw-chip").first).to_be_focused()
    await page.keyboard.press("Control+k")
    await page.keyboard.press("ArrowUp")
    await expect(page.get_by_label("Your question")).to_have_value(VALVE)


async def test_the_limit_is_shown_filters_apply_and_a_link_asks_at_once(page: Page, site: Served) -> None:
    await open_book(page, site)
    await page.get_by_label("Your question").fill("a" * 900)
    await expect(page.get_by_text("900 of 1,000 characters")).to_be_visible()
    await ask(page, "a" * 1001)
    await expect(page.get_by_text("Shorten the question")).to_be_visible()
    await expect(page.locator(".bw-exchange")).to_have_count(0)
    await page.get_by_label("All modules").select_option("motion")
    async with page.expect_request("**/chat/stream") as sent:
        await ask(page, "How fast does the carriage move?")
    request = await sent.value
    assert request.post_data_json["module"] == "motion"
    await expect(page.locator("article mark").first).to_contain_text("20 centimetres per second")
    await page.goto(f"{site.url}?q=When+does+the+irrigation+valve+open%3F&book=book")
    await expect(page.locator("article").last.locator("mark").first).to_contain_text("below 30 percent")
    assert "q=" not in page.url


async def test_filters_belong_to_the_book_that_was_chosen_last(page: Page, site: Served) -> None:
    late: list[Route] = []

    async def hold_the_first(route: Route) -> None:
        if late:
            await route.continue_()
        else:
            late.append(route)

    await page.route(re.compile(r"/books/[^/]+$"), hold_the_first)
    await open_book(page, site)
    await page.get_by_label("All modules").select_option("motion")
    async with page.expect_response(re.compile(r"/books/[^/]+$")) as answered:
        await late[0].continue_()
    await (await answered.value).finished()
    await expect(page.get_by_label("All modules")).to_have_value("motion")
    async with page.expect_request("**/chat/stream") as sent:
        await ask(page, "How fast does the carriage move?")
    assert (await sent.value).post_data_json["module"] == "motion"


async def test_a_key_is_asked_for_and_a_wrong_one_is_named(page: Page, tmp_path: Path, small_book: Path) -> None:
    async with served(settings_for(tmp_path / "data"), small_book, open_to_anyone=False) as site:
        await page.goto(site.url)
        await expect(page.get_by_text("This service needs an API key.")).to_be_visible()
        assert await accessibility_issues(page) == []
        await page.get_by_label("API key").fill("bw_wrong")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("alert")).to_contain_text("This key is not valid.")
        _, elsewhere = await site.service.keys.create("site", "reader", origins=["https://greenhouse.example"])
        await page.get_by_label("API key").fill(elsewhere)
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("alert")).to_contain_text("This site may not use the service with this key.")
        key = await site.key()
        await page.get_by_label("API key").fill(key)
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("heading", name=GREENHOUSE, level=1)).to_be_visible()
        await ask(page, VALVE)
        await expect(page.locator("article mark").first).to_contain_text("below 30 percent")
        await site.service.keys.revoke((await site.service.keys.keys())[1].id)
        await ask(page, FOLLOW_UP)
        await expect(page.get_by_role("alert")).to_contain_text("This key is not valid.")
        await expect(page.get_by_label("Your question")).to_have_value(FOLLOW_UP)


async def test_stop_keeps_the_text_and_hostile_text_is_shown_and_never_run(
    page: Page, tmp_path: Path, small_book: Path
) -> None:
    bad = says(TRUE, " <script>window.pwned = 2</script> [look](javascript:window.pwned=3) <b onclick='x'>bold</b>")
    half = dripping([chunk({"content": f"{TRUE} And"}), chunk({"content": " more."})], pause=30)
    async with (
        scripted(bad, half) as model,
        served(settings_for(tmp_path / "data", model_url=model.url, unsupported="mark"), small_book) as site,
    ):
        await page.goto(site.url)
        await ask(page, ATTACK)
        await expect(page.locator(".bw-question")).to_have_text(ATTACK)
        await expect(page.locator(".bw-tools")).to_be_visible()
        await ask(page, VALVE)
        await expect(page.locator("article").nth(1)).to_contain_text("<script>")
        await expect(page.locator("article").nth(1).locator(".bw-tools")).to_be_visible()
        await ask(page, VALVE)
        await expect(page.locator("article").nth(2)).to_contain_text("below 30 percent")
        await page.get_by_role("button", name="Stop").click()
        await expect(page.locator("article").last.get_by_text("Stopped.")).to_be_visible()
        await expect(page.locator("article").last).to_contain_text("below 30 percent")
        await expect(page.get_by_role("status")).to_have_text("Stopped.")
    assert await page.evaluate("() => window.pwned") is None
    assert await page.locator("article script, article b, article img, article a[href^=javascript]").count() == 0
