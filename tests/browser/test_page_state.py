"""What the chat page shows while responses are late, and after a reload."""

import re
from pathlib import Path

import anyio
import pytest
from playwright.async_api import Page, Route, expect

from tests.browser.test_page import BREAD, FOLLOW_UP, GREENHOUSE, TRUE, VALVE, ask, open_book, shown_thread
from tests.support.scripted_http import scripted
from tests.support.scripted_model import says
from tests.support.served import Served, served
from tests.support.small_book import settings_for

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

SALT = "How much salt goes into the dough?"
SESSION, STREAM = re.compile(r"/session/"), "**/chat/stream"
#: Streams stop before an event, until they are aborted or `endAnswer` is called.
WITHOUT_AN_END = """
const original = window.fetch;
window.fetch = async (url, options) => {
  const response = await original(url, options);
  if (!window.holdsAnswers || !String(url).endsWith("/chat/stream")) return response;
  const text = await response.text();
  return new Response(new ReadableStream({ start(stream) {
    const at = text.indexOf("event: LAST");
    stream.enqueue(new TextEncoder().encode(text.slice(0, at)));
    window.endAnswer = () => stream.enqueue(new TextEncoder().encode(text.slice(at)));
    options.signal.addEventListener("abort", () => stream.error(options.signal.reason));
  } }));
};
"""
#: All events of an answer arrive at the same time.
AT_ONCE = """
const original = window.fetch;
window.fetch = async (url, options) => {
  const response = await original(url, options);
  return String(url).endsWith("/chat/stream") ? new Response(await response.text()) : response;
};
"""
#: A question that is sent stays in the box until its first words are there.
WITHOUT_TIMERS = """
const { setTimeout: later } = window;
window.setTimeout = (work, time) => time === 50 ? 0 : later(work, time);
"""
#: The first answer again, 20 milliseconds after a question.
SOON = """
const original = window.fetch;
window.fetch = async (url, options) => {
  if (!String(url).endsWith("/chat/stream")) return original(url, options);
  window.answer ??= await (await original(url, options)).text();
  await new Promise((resolve) => setTimeout(resolve, 20));
  const bytes = new TextEncoder().encode(window.answer);
  return new Response(new ReadableStream({ start: (stream) => stream.enqueue(bytes) }));
};
"""


class Gate:
    """The first requests wait here until they are let through."""

    def __init__(self, count: int = 1) -> None:
        self.count = count
        self.waiting: list[Route] = []
        self.is_full = anyio.Event()

    async def hold(self, route: Route) -> None:
        if self.is_full.is_set():
            return await route.continue_()
        self.waiting.append(route)
        return self.is_full.set() if len(self.waiting) == self.count else None

    async def full(self) -> None:
        with anyio.fail_after(40):
            await self.is_full.wait()

    async def release(self) -> None:
        for route in self.waiting:
            await route.continue_()


async def answered(page: Page, question: str) -> None:
    count = await page.locator(".bw-tools").count()
    await ask(page, question)
    await expect(page.locator(".bw-tools")).to_have_count(count + 1)


async def hold_answers(page: Page, *, before: str = "done") -> None:
    await page.add_init_script(WITHOUT_AN_END.replace("LAST", before))


async def ask_without_end(page: Page, question: str) -> None:
    """Asks; the answer has its text and does not end."""
    await page.evaluate("window.holdsAnswers = true")
    await ask(page, question)
    await expect(page.locator(".bw-exchange").last.locator(".bw-text")).not_to_be_empty()


async def test_a_conversation_that_is_opened_twice_at_once_is_shown_once(page: Page, site: Served) -> None:
    await open_book(page, site)
    await answered(page, VALVE)
    gate = Gate(2)
    await page.route(SESSION, gate.hold)
    await page.get_by_role("button", name=VALVE, exact=True).dblclick()
    await gate.full()
    await gate.release()
    await expect(page.locator("article mark").first).to_contain_text("below 30 percent")
    await page.wait_for_load_state("networkidle")
    await expect(page.locator(".bw-exchange")).to_have_count(1)


async def test_a_conversation_that_cannot_be_read_is_named_and_the_chat_stays_usable(page: Page, site: Served) -> None:
    await open_book(page, site)
    await answered(page, VALVE)
    await page.route(SESSION, lambda route: route.abort())
    await page.get_by_role("button", name=VALVE, exact=True).click()
    problem = page.get_by_role("alert")
    await expect(problem).to_contain_text("The connection was lost.")
    await page.unroute(SESSION)
    await problem.get_by_role("button", name="Retry").click()
    await expect(page.locator("article mark").first).to_contain_text("below 30 percent")
    await answered(page, FOLLOW_UP)


async def test_each_book_keeps_its_own_draft_and_a_reload_keeps_the_gap_above_the_question(
    page: Page, site: Served
) -> None:
    await open_book(page, site)
    await answered(page, VALVE)
    await answered(page, FOLLOW_UP)
    gap = """() => document.querySelector(".bw-exchange:last-child").getBoundingClientRect().top
      - document.querySelector(".bw-log").getBoundingClientRect().top"""
    box = page.get_by_label("Your question")
    await box.fill("How do I clean it?")
    await page.get_by_label("Book", exact=True).select_option(label=BREAD)
    await expect(box).to_have_value("")
    await box.fill("Which flour?")
    await page.get_by_label("Book", exact=True).select_option(label=GREENHOUSE)
    await expect(box).to_have_value("How do I clean it?")
    await page.reload()
    await expect(box).to_have_value("How do I clean it?")
    await expect(page.locator(".bw-exchange")).to_have_count(2)
    assert await page.evaluate(gap) == pytest.approx(24, abs=1)
    module = page.locator("select[name=module]")
    await expect(module).to_have_css("text-overflow", "ellipsis")
    await page.get_by_label("Book", exact=True).select_option(label=BREAD)
    await expect(box).to_have_value("Which flour?")


async def test_a_question_that_waits_for_another_book_goes_back_to_the_box(page: Page, site: Served) -> None:
    await open_book(page, site)
    await answered(page, VALVE)
    gate = Gate()
    await page.route(SESSION, gate.hold)
    await page.get_by_role("button", name=VALVE, exact=True).click()
    await gate.full()
    await ask(page, FOLLOW_UP)
    await page.get_by_label("Book", exact=True).select_option(label=BREAD)
    await gate.release()
    await expect(page.locator(".bw-empty")).to_be_visible()
    await expect(page.get_by_label("Your question")).to_have_value(FOLLOW_UP)
    await expect(page.locator(".bw-exchange")).to_have_count(0)
    await expect(page.get_by_role("button", name="Ask", exact=True)).to_be_visible()


async def test_an_answer_that_is_left_appears_nowhere_else_and_is_interrupted_at_home(page: Page, site: Served) -> None:
    await hold_answers(page)
    await open_book(page, site)
    await ask_without_end(page, VALVE)
    await page.evaluate("window.holdsAnswers = false")
    await page.get_by_label("Book", exact=True).select_option(label=BREAD)
    await answered(page, SALT)
    await expect(page.locator(".bw-exchange")).to_have_count(1)
    await page.get_by_label("Book", exact=True).select_option(label=GREENHOUSE)
    await expect(page.locator(".bw-question")).to_have_text([VALVE])


async def test_a_source_that_is_wanted_too_early_opens_with_the_end_of_the_answer(page: Page, site: Served) -> None:
    await hold_answers(page)
    await open_book(page, site)
    await ask_without_end(page, VALVE)
    await page.locator(".bw-chip").first.click()
    panel = page.get_by_role("complementary", name="Sources")
    await expect(panel).to_be_hidden()
    await page.evaluate("endAnswer()")
    await expect(panel.locator("mark").first).to_contain_text("below 30 percent")
    await page.keyboard.press("Escape")
    await expect(page.locator(".bw-chip").first).to_be_focused()


async def test_an_open_conversation_is_deleted_while_it_is_answered(page: Page, site: Served) -> None:
    await hold_answers(page)
    await open_book(page, site)
    await answered(page, VALVE)
    await ask_without_end(page, FOLLOW_UP)
    await page.get_by_role("button", name=f"Delete: {VALVE}").click()
    await page.get_by_role("button", name="Delete", exact=True).click()
    await expect(page.locator(".bw-empty")).to_be_visible()
    await expect(page.get_by_text("Your conversations appear here.")).to_be_visible()
    await page.reload()
    await expect(page.locator(".bw-empty")).to_be_visible()
    await expect(page.get_by_text("Your conversations appear here.")).to_be_visible()


async def test_a_title_that_is_being_edited_survives_the_end_of_an_answer(page: Page, site: Served) -> None:
    await open_book(page, site)
    await answered(page, VALVE)
    gate = Gate()
    await page.route(STREAM, gate.hold)
    await ask(page, FOLLOW_UP)
    await gate.full()
    threads = page.get_by_role("navigation", name="Conversations")
    await threads.get_by_role("button", name=f"Rename: {VALVE}").click()
    await threads.get_by_label("Title").fill("Valves")
    await gate.release()
    await expect(page.locator(".bw-tools")).to_have_count(2)
    await expect(threads.get_by_label("Title")).to_have_value("Valves")
    await page.keyboard.press("Enter")
    await expect(threads.get_by_role("button", name="Valves", exact=True)).to_be_focused()


async def test_a_first_answer_that_a_reload_interrupts_is_there_and_is_asked_again(page: Page, site: Served) -> None:
    await open_book(page, site)

    async def never(route: Route) -> None:
        """The session as it is while the answer is written: a question without an answer."""
        response = await route.fetch()
        body = await response.json()
        body["messages"] = body["messages"][:1]
        await route.fulfill(response=response, json=body)

    await answered(page, VALVE)
    await page.route(SESSION, never)
    await page.reload()
    await expect(page.locator("article")).to_contain_text("This answer was interrupted.")
    await expect(page.locator("[aria-busy]")).to_have_count(0)
    await page.unroute(SESSION)
    await page.locator("article").get_by_role("button", name="Retry").click()
    await expect(page.locator("article mark").first).to_contain_text("below 30 percent")


async def test_a_stopped_question_can_be_asked_again_at_once_and_is_there_once_after_a_reload(
    page: Page, tmp_path: Path, small_book: Path
) -> None:
    async with (
        scripted(says(TRUE, " And more.", delay=30), says(TRUE)) as model,
        served(settings_for(tmp_path / "data", model_url=model.url), small_book) as site,
    ):
        await page.goto(site.url)
        await ask(page, VALVE)
        await expect(page.get_by_role("button", name=VALVE, exact=True)).to_be_visible()  # in the list of conversations
        with anyio.fail_after(20):
            while not model.requests:  # noqa: ASYNC110 - the slow reply belongs to the question that is stopped
                await anyio.sleep(0.01)
        await page.get_by_role("button", name="Stop").click()
        await page.locator("article").get_by_role("button", name="Retry").click()
        await expect(page.locator(".bw-tools")).to_be_visible()
        before = await shown_thread(page)
        assert len(before) == 1
        await page.reload()
        await expect(page.locator(".bw-tools")).to_be_visible()
        assert await shown_thread(page) == before


async def test_ratings_and_filters_are_the_same_after_a_reload(page: Page, site: Served) -> None:
    await open_book(page, site)
    await page.get_by_label("All modules").select_option("water")
    await answered(page, VALVE)
    await page.get_by_role("button", name="Helpful", exact=True).click()
    await expect(page.get_by_role("button", name="Helpful", exact=True)).to_have_attribute("aria-pressed", "true")
    before = await shown_thread(page)
    await page.reload()
    await expect(page.locator(".bw-tools")).to_be_visible()
    assert await shown_thread(page) == before
    await expect(page.get_by_label("All modules")).to_have_value("water")
    async with page.expect_request(STREAM) as sent:
        await ask(page, FOLLOW_UP)
    assert (await sent.value).post_data_json["module"] == "water"


async def test_a_late_failure_of_one_source_does_not_replace_another(page: Page, site: Served) -> None:
    await open_book(page, site)
    await answered(page, VALVE)
    gate = Gate()
    await page.route("**/context/**", gate.hold)
    await page.locator(".bw-chip").first.click()
    await gate.full()
    await page.locator(".bw-source").first.click()
    panel = page.get_by_role("complementary", name="Sources")
    await expect(panel.locator("mark").first).to_be_visible()
    await gate.waiting[0].abort()
    await page.wait_for_load_state("networkidle")
    await expect(panel.locator("mark").first).to_be_visible()
    await expect(panel.get_by_role("alert")).to_have_count(0)


async def test_an_answer_is_copied_with_its_sources_and_a_link_asks_it_again(page: Page, site: Served) -> None:
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await open_book(page, site)
    await answered(page, VALVE)
    copy = page.get_by_role("button", name="Copy answer")
    await copy.click()
    await expect(page.get_by_role("button", name="Copied")).to_be_visible()
    text = await page.evaluate("navigator.clipboard.readText()")
    assert text.startswith(f"**{VALVE}**\n\n")
    assert "below 30 percent" in text
    assert "\n\nSources:\n\n- [1] Irrigation › When the valve opens <https://greenhouse.example/" in text
    await expect(copy).to_be_visible()  # the name of the button comes back
    await page.get_by_role("button", name="Copy link to this question").click()
    await expect(page.get_by_role("button", name="Copied")).to_be_visible()
    link = await page.evaluate("navigator.clipboard.readText()")
    await page.goto(link)
    await expect(page.locator(".bw-tools")).to_have_count(2)
    await expect(page.locator(".bw-question")).to_have_text([VALVE, VALVE])


async def test_a_lesson_opened_in_a_browser_is_a_page_with_the_marked_words_of_the_source(
    page: Page, site: Served
) -> None:
    await open_book(page, site)
    await answered(page, VALVE)
    await page.locator(".bw-chip").first.click()
    panel = page.get_by_role("complementary", name="Sources")
    await expect(panel.locator("mark").first).to_be_visible()
    marked = await panel.locator("mark").all_inner_texts()
    address = str(await panel.get_by_role("link", name="Read the lesson").get_attribute("href"))
    await page.goto(address)
    await expect(page.locator("mark").first).to_be_in_viewport()
    assert await page.locator("mark").all_inner_texts() == marked
    await page.goto(f"{address}&quote=Restart the controller.")  # words of another section
    await expect(page.locator("mark").first).to_be_in_viewport()
    assert await page.locator("mark").all_inner_texts() == marked
    lesson = address.partition("/read/")[2].partition("?")[0]
    await page.goto(f"{site.url}/lesson/{lesson}?book_id=book")
    await expect(page).to_have_url(re.compile(f"/read/{lesson}\\?book=book$"))
    await expect(page.get_by_role("heading", name="Irrigation", level=1)).to_be_visible()
    await page.goto(f"{site.url}/lesson/00000000-0000-4000-8000-000000000000")
    await expect(page.get_by_role("alert")).to_have_text(re.compile("^This lesson is not in the book"))
    await page.get_by_role("link", name="Ask the book").click()
    await expect(page.get_by_label("Your question")).to_be_visible()


async def test_the_first_words_are_drawn_before_the_end_of_the_answer_is_handled(page: Page, site: Served) -> None:
    await page.add_init_script(AT_ONCE)
    await open_book(page, site)
    await page.evaluate(
        """() => {
          const look = () => {
            const answer = document.querySelector("article");
            if (answer?.querySelector(".bw-text").textContent) window.wasBusy ??= answer.getAttribute("aria-busy");
            requestAnimationFrame(look);
          };
          look();
        }"""
    )
    await answered(page, VALVE)
    assert await page.evaluate("window.wasBusy") == "true"


async def test_a_question_with_a_quick_answer_is_drawn_once(page: Page, site: Served) -> None:
    """Drawing it first would hold up a service on the same machine."""
    await page.add_init_script(SOON)
    await open_book(page, site)
    await answered(page, VALVE)
    await page.evaluate(
        """() => {
          window.alone = 0;
          window.withoutEnd = 0;
          let isAsked = false;
          addEventListener("keydown", () => { isAsked = true; }, true);
          const look = () => {
            const isAnswered = document.querySelectorAll(".bw-exchange").length === 2;
            alone += isAsked && !isAnswered && !document.querySelector("textarea").value;
            alone += [...document.querySelectorAll(".bw-exchange .bw-text")].some((text) => !text.textContent);
            alone += document.querySelector(".bw-send").getAttribute("aria-label") === "Stop";
            withoutEnd += document.querySelectorAll("article[aria-busy] .bw-text > *").length > 0;
            requestAnimationFrame(look);
          };
          look();
        }"""
    )
    await answered(page, VALVE)
    assert await page.evaluate("[alone, withoutEnd > 0]") == [0, True]


@pytest.mark.parametrize("by", ["style", "script"])
async def test_the_box_is_as_high_as_its_text_and_never_too_high(page: Page, site: Served, by: str) -> None:
    """Browsers that do not know `field-sizing` have a script for it."""
    if by == "script":
        await page.add_init_script("CSS.supports = () => false")
    await open_book(page, site)
    if by == "script":
        await page.evaluate(
            """() => {
              const sheet = new CSSStyleSheet();
              sheet.replaceSync("textarea { field-sizing: fixed !important; }");
              document.adoptedStyleSheets.push(sheet);
            }"""
        )
    box = page.get_by_label("Your question")
    heights = []
    for lines in (1, 3, 40, 1):
        await box.fill("\n".join(["Why?"] * lines))
        await page.evaluate("() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))")
        heights.append(await box.evaluate("element => element.clientHeight"))
    assert heights[0] == heights[3] < heights[1] < heights[2] == 200


async def test_a_question_that_is_left_at_once_is_not_shown_in_another_conversation(page: Page, site: Served) -> None:
    await hold_answers(page, before="content")
    await open_book(page, site)
    await page.evaluate("window.holdsAnswers = true")
    await page.evaluate(
        """async question => {
          const wait = (time) => new Promise((resolve) => setTimeout(resolve, time));
          bookwiseChat.ask(question);
          await wait(10);
          bookwiseChat.clear();
          await wait(100);
        }""",
        VALVE,
    )
    await expect(page.get_by_role("list", name="Questions to start with")).to_be_visible()
    await expect(page.locator(".bw-exchange")).to_have_count(0)


async def test_an_answer_that_is_stopped_at_its_first_words_has_no_end(page: Page, site: Served) -> None:
    await page.add_init_script(AT_ONCE)
    await open_book(page, site)
    await page.evaluate(
        """() => new MutationObserver(() => {
          if (document.querySelector("article .bw-text")?.textContent) bookwiseChat.stop();
        }).observe(document.querySelector(".bw-log"), { childList: true, subtree: true })"""
    )
    await ask(page, VALVE)
    await expect(page.locator("article").get_by_text("Stopped.")).to_be_visible()
    await expect(page.locator(".bw-tools")).to_have_count(0)
    await expect(page.locator(".bw-chip")).to_have_count(0)


async def test_a_conversation_is_listed_when_it_is_stopped_before_its_first_words(page: Page, site: Served) -> None:
    await hold_answers(page, before="content")
    await open_book(page, site)
    await page.evaluate("window.holdsAnswers = true")
    await ask(page, VALVE)
    await page.wait_for_function("() => Boolean(window.endAnswer)")
    await page.get_by_role("button", name="Stop").click()
    await expect(page.get_by_role("button", name=VALVE, exact=True)).to_be_visible()


async def test_a_question_leaves_the_box_while_its_answer_is_awaited(page: Page, site: Served) -> None:
    await hold_answers(page, before="content")
    await open_book(page, site)
    await page.evaluate("window.holdsAnswers = true")
    await ask(page, VALVE)
    await expect(page.get_by_role("button", name="Stop")).to_be_visible()
    await expect(page.locator("textarea")).to_have_value("")


async def test_a_question_leaves_the_box_with_the_first_words(page: Page, site: Served) -> None:
    await page.add_init_script(WITHOUT_TIMERS)
    await hold_answers(page)
    await open_book(page, site)
    await ask_without_end(page, VALVE)
    await expect(page.locator("textarea")).to_have_value("")
    await page.reload()
    await expect(page.get_by_role("button", name=VALVE, exact=True)).to_be_visible()
    await expect(page.locator("textarea"), "no draft is left").to_have_value("")


async def test_what_is_typed_right_after_a_question_is_the_next_one(page: Page, site: Served) -> None:
    await page.add_init_script(WITHOUT_TIMERS)
    await hold_answers(page, before="content")
    await open_book(page, site)
    await page.evaluate("window.holdsAnswers = true")
    await ask(page, VALVE)
    await page.keyboard.type("And then?")
    await expect(page.locator("textarea")).to_have_value("And then?")
    await page.wait_for_function("() => Boolean(window.endAnswer)")
    await page.evaluate("window.endAnswer()")
    await expect(page.locator(".bw-tools").last).to_be_visible()
    await expect(page.locator("textarea")).to_have_value("And then?")


async def test_a_question_is_sent_before_anything_is_measured_or_drawn(page: Page, site: Served) -> None:
    """Layout, or a list of a hundred conversations, would hold up the request."""
    await open_book(page, site)
    await page.evaluate(
        """() => {
          const log = [], original = window.fetch;
          const spy = (prototype, name) => {
            const { get } = Object.getOwnPropertyDescriptor(prototype, name);
            Object.defineProperty(prototype, name, { get() { log.push("layout"); return get.call(this); } });
          };
          spy(Element.prototype, "scrollHeight");
          spy(HTMLElement.prototype, "offsetTop");
          window.fetch = (...request) => { log.push("request"); return original(...request); };
          addEventListener("keydown", () => { log.length = 0; }, true);
          window.steps = log;
        }"""
    )
    await answered(page, VALVE)
    assert await page.evaluate("steps[0]") == "request"
