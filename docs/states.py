"""Every state of the chat page, the widget and the author's view. Each function brings a new tab into one."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from playwright.async_api import Page, Route

from bookwise.domain.journal import AskedQuestion, QuotedLesson
from bookwise.domain.validation_runs import FailedQuestion, KindCount, ValidationRun
from bookwise.wiring import App

BOOK, BREAD = "physical-ai-robotics", "bread"
SITE = "https://physical-ai.example"  #: of the sample book
ANSWERED, REFUSED = "How do I create a workspace?", "How do I bake bread?"  #: those of the transcript in the README


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A new tab, and the two services: one for anyone, one that needs a key."""

    page: Page
    url: str
    keyed_url: str = ""
    admin: str = ""
    reader: str = ""  #: a key for the site of the book


State = Callable[[Scene], Awaitable[None]]


async def ask(page: Page, question: str) -> None:
    """Asks, and waits until the answer can be rated: then it is complete."""
    count = await page.locator(".bw-tools").count()
    await page.get_by_role("textbox", name="Your question").fill(question)
    await page.keyboard.press("Enter")
    await page.locator(".bw-tools").nth(count).wait_for()


# ---- The chat page ----


async def empty(scene: Scene) -> None:
    await scene.page.goto(f"{scene.url}?book={BOOK}")
    await scene.page.locator(".bw-starters button").first.wait_for()


#: A question gets no response.
NO_RESPONSE = """() => {
  const fetch = window.fetch;
  window.fetch = (url, options) => String(url).endsWith("/chat/stream") ? new Promise(() => {}) : fetch(url, options);
}"""


async def searching(scene: Scene) -> None:
    await scene.page.add_init_script(f"({NO_RESPONSE})()")
    await empty(scene)
    await scene.page.get_by_label("Your question").fill(ANSWERED)
    await scene.page.keyboard.press("Enter")
    await scene.page.locator(".bw-progress").wait_for()


#: The stream of an answer stops in the middle and stays open.
HALF_A_STREAM = """() => {
  const fetch = window.fetch;
  window.fetch = async (url, options) => {
    if (!String(url).endsWith("/chat/stream")) return fetch(url, options);
    const text = await (await fetch(url, options)).text();
    const events = text.split("\\n\\n").filter((one) => !one.includes("event: done"));
    const half = events.slice(0, Math.max(3, Math.ceil(events.length / 2))).join("\\n\\n") + "\\n\\n";
    return new Response(new ReadableStream({ start(stream) {
      stream.enqueue(new TextEncoder().encode(half));
      options.signal.addEventListener("abort", () => stream.error(options.signal.reason));
    } }));
  };
}"""


async def streaming(scene: Scene) -> None:
    await scene.page.add_init_script(f"({HALF_A_STREAM})()")
    await empty(scene)
    await scene.page.get_by_label("Your question").fill("How do I write a service in Python?")
    await scene.page.keyboard.press("Enter")
    await scene.page.locator(".bw-answer .bw-text > *").first.wait_for()


async def answer(scene: Scene) -> None:
    await empty(scene)
    await ask(scene.page, ANSWERED)


async def table(scene: Scene) -> None:
    await empty(scene)
    await ask(scene.page, "What is the difference between a topic and a service?")


async def formula(scene: Scene) -> None:
    await empty(scene)
    await ask(scene.page, "How is the reprojection error computed in visual SLAM?")


async def items(scene: Scene) -> None:
    await empty(scene)
    await ask(scene.page, "Which steps does a sim-to-real transfer have?")


async def citation(scene: Scene) -> None:
    await answer(scene)
    await scene.page.locator(".bw-chip").first.click()
    await scene.page.locator(".bw-panel mark").first.wait_for()


async def refusal(scene: Scene) -> None:
    await empty(scene)
    await ask(scene.page, REFUSED)


async def refusal_nearby(scene: Scene) -> None:
    await empty(scene)
    await ask(scene.page, "Which company sells the cheapest lidar sensor for a humanoid?")


async def other_language(scene: Scene) -> None:
    await empty(scene)
    await ask(scene.page, "Wie erstelle ich einen Arbeitsbereich und warum?")


async def doubt(scene: Scene) -> None:
    await empty(scene)
    await ask(scene.page, "How accurate is the IMU?")
    await scene.page.locator(".bw-low summary").click()


async def choices(scene: Scene) -> None:
    await empty(scene)
    await ask(scene.page, "How do I install it?")
    await scene.page.locator(".bw-choices button").first.wait_for()


async def follow_up(scene: Scene) -> None:
    await answer(scene)
    await ask(scene.page, "And how do I build it?")


async def rating(scene: Scene) -> None:
    await answer(scene)
    await scene.page.get_by_role("button", name="Not helpful").click()
    await scene.page.locator(".bw-reasons").scroll_into_view_if_needed()


async def conversations(scene: Scene) -> None:
    await answer(scene)
    await scene.page.get_by_role("button", name="New", exact=True).click()
    await ask(scene.page, "What is a node?")
    if await scene.page.locator(".bw-menu").is_visible():
        await scene.page.locator(".bw-menu").click()


async def renaming(scene: Scene) -> None:
    await conversations(scene)
    await scene.page.get_by_role("button", name="Rename: What is a node?").click()


async def deleting(scene: Scene) -> None:
    await conversations(scene)
    await scene.page.get_by_role("button", name="Delete: What is a node?").click()


async def filters(scene: Scene) -> None:
    await empty(scene)
    await scene.page.locator(".bw-filters select").first.select_option(index=1)
    await scene.page.locator(".bw-filters select").last.select_option(index=1)


async def too_long(scene: Scene) -> None:
    await empty(scene)
    await scene.page.get_by_label("Your question").fill("Why does my robot fall over? " * 40)


async def lost(scene: Scene) -> None:
    await empty(scene)
    await scene.page.context.set_offline(True)
    await scene.page.get_by_label("Your question").fill(ANSWERED)
    await scene.page.keyboard.press("Enter")
    await scene.page.get_by_role("alert").wait_for()


async def busy(scene: Scene) -> None:
    async def refuse(route: Route) -> None:
        problem = {"detail": "The service is busy.", "advice": "Try again in 2 seconds.", "code": "busy", "status": 503}
        await route.fulfill(status=503, json=problem, headers={"Retry-After": "2"})

    await empty(scene)
    await scene.page.route("**/chat/stream", refuse)
    await scene.page.get_by_label("Your question").fill(ANSWERED)
    await scene.page.keyboard.press("Enter")
    await scene.page.get_by_role("alert").wait_for()


async def stopped(scene: Scene) -> None:
    await streaming(scene)
    await scene.page.get_by_role("button", name="Stop").click()
    await scene.page.locator(".bw-footer").get_by_text("Stopped.").scroll_into_view_if_needed()


async def key(scene: Scene) -> None:
    await scene.page.goto(scene.keyed_url)
    await scene.page.get_by_label("API key").wait_for()


async def wrong_key(scene: Scene) -> None:
    await key(scene)
    await scene.page.get_by_label("API key").fill("bw_wrong")
    await scene.page.keyboard.press("Enter")
    await scene.page.get_by_role("alert").wait_for()


async def no_service(scene: Scene) -> None:
    await scene.page.route("**/books", lambda route: route.abort())
    await scene.page.goto(scene.url)
    await scene.page.get_by_role("alert").wait_for()


async def without_site(scene: Scene) -> None:
    """A source of a book that has no site."""
    await scene.page.goto(f"{scene.url}?book={BREAD}")
    await ask(scene.page, "How much salt goes into the dough?")
    await scene.page.locator(".bw-chip").first.click()
    await scene.page.locator(".bw-panel mark").first.wait_for()


async def lesson(scene: Scene) -> None:
    await citation(scene)
    await scene.page.goto(str(await scene.page.locator(".bw-panel-links a").last.get_attribute("href")))
    await scene.page.locator("mark").first.wait_for()


async def lesson_start(scene: Scene) -> None:
    await lesson(scene)
    await scene.page.locator("h1").scroll_into_view_if_needed()


async def lesson_end(scene: Scene) -> None:
    await lesson(scene)
    await scene.page.locator(".around").scroll_into_view_if_needed()


async def no_lesson(scene: Scene) -> None:
    await scene.page.goto(f"{scene.url}/read/00000000-0000-4000-8000-000000000000")
    await scene.page.get_by_role("alert").wait_for()


# ---- The widget ----

TEXT = """<h1>Workspaces</h1><p id=text>A workspace is the directory in which packages are built together.</p>
<p>Packages go into <code>src</code>, each in a directory of its own. Source the result in each new terminal.</p>"""
PLAIN = (
    "html { color-scheme: light dark } body { font: 17px/1.6 serif; max-width: 40em; margin: 3em auto; padding: 0 1em }"
)
HOSTILE = """* { color: #700 !important; font: italic 31px/2 fantasy !important; letter-spacing: .3em !important;
  text-transform: uppercase !important; background: lime !important; border: 3px dashed red !important }
  button, dialog, textarea { display: none !important }"""


async def site(
    scene: Scene, attributes: str = "", *, style: str = PLAIN, html: str = "", key: str | None = None
) -> None:
    """The page of a book with the widget, at the address of the sample book."""
    source = f'src="{scene.keyed_url}/widget.js" data-key="{key or scene.reader}" data-book="{BOOK}"'
    meta = "<meta charset=utf-8><meta name=viewport content='width=device-width'><title>A lesson</title>"
    head = f"{meta}<style>{style}</style><script {source} {attributes} defer></script>"
    text = f"<!doctype html><html lang=en {html}><head>{head}</head><body>{TEXT}</body>"
    await scene.page.context.grant_permissions(["local-network-access"])
    await scene.page.route(f"{SITE}/**", lambda route: route.fulfill(body=text, content_type="text/html"))
    await scene.page.goto(f"{SITE}/")


async def open_widget(scene: Scene, label: str = "Ask the book") -> None:
    await scene.page.get_by_role("button", name=label).click()
    await scene.page.locator(".bw-starters button").first.wait_for()


async def widget_closed(scene: Scene) -> None:
    await site(scene)
    await scene.page.get_by_role("button", name="Ask the book").wait_for()


async def widget_open(scene: Scene) -> None:
    await site(scene)
    await open_widget(scene)


async def widget_answer(scene: Scene) -> None:
    await widget_open(scene)
    await ask(scene.page, ANSWERED)


async def widget_citation(scene: Scene) -> None:
    await widget_answer(scene)
    await scene.page.locator(".bw-chip").first.click()
    await scene.page.locator(".bw-panel mark").first.wait_for()


async def widget_refusal(scene: Scene) -> None:
    await widget_open(scene)
    await ask(scene.page, REFUSED)


async def widget_hostile(scene: Scene) -> None:
    await site(scene, style=HOSTILE)
    await open_widget(scene)
    await ask(scene.page, ANSWERED)


async def widget_hostile_forced(scene: Scene) -> None:
    await site(scene, 'data-theme="dark" data-color-dark="#ffd866"', style=HOSTILE)
    await open_widget(scene)
    await ask(scene.page, ANSWERED)


async def widget_themed(scene: Scene) -> None:
    attributes = (
        'data-title="Ask Gro" data-label="Ask Gro" data-color="#8b0000" data-position="bottom-left" data-radius="3"'
        ' data-questions="What is a node? | What is a topic?" data-disclaimer="Gro can be wrong."'
    )
    await site(scene, attributes)
    await open_widget(scene, "Ask Gro")


async def widget_modal(scene: Scene) -> None:
    await site(scene, 'data-mode="modal"')
    await open_widget(scene)


async def widget_german(scene: Scene) -> None:
    await site(scene, 'data-lang="de"')
    await open_widget(scene, "Das Buch fragen")


async def widget_selection(scene: Scene) -> None:
    await site(scene)
    await scene.page.locator("#text").select_text()
    await scene.page.locator("#text").dispatch_event("selectstart")
    await scene.page.get_by_role("button", name="Ask about this").wait_for()


async def widget_forbidden(scene: Scene) -> None:
    """A site that the key does not allow."""
    await site(scene, key=scene.reader)
    copy = await scene.page.content()
    await scene.page.route("https://copy.example/**", lambda route: route.fulfill(body=copy, content_type="text/html"))
    await scene.page.goto("https://copy.example/")
    await scene.page.get_by_role("button", name="Ask the book").first.click()
    await scene.page.get_by_role("alert").wait_for()


# ---- The author's view ----


def asked(hours: float, question: str, **facts: Any) -> AskedQuestion:
    usual: dict[str, Any] = {"outcome": "refused", "reason": "not-in-the-book"}
    when = datetime.now(UTC) - timedelta(hours=hours)
    return AskedQuestion(
        answer_id=str(uuid4()), book_id=BOOK, owner="", asked_at=when, question=question, **usual | facts
    )


def questions(lesson: QuotedLesson) -> list[AskedQuestion]:
    """A month of questions. Their answers quote a lesson of the book."""
    good = {"outcome": "answered", "reason": "", "level": "high", "lessons": (lesson,)}
    low = {**good, "level": "low"}
    comment = (
        "It explains Linux only. I use Windows and the paths differ, and the command sources a file that I do not have."
    )
    return [
        *(asked(11 * n, f"How do I create workspace number {n}?", **good) for n in range(60)),
        *(asked(23 * n, f"Which lidar suits a small robot in case {n}?") for n in range(1, 24)),
        *(asked(31 * n, f"How long does the battery last in model {n}?") for n in range(1, 12)),
        *(asked(29 * n, f"Does the policy transfer to robot {n}?", **low) for n in range(1, 12)),
        asked(3, "Why is my simulation slow?", **low, thumb="down", comment=comment),
        asked(5, "Who won the football world cup in 1998?"),
    ]


def validation_run(days: int) -> ValidationRun:
    return ValidationRun(
        run_id=str(uuid4()),
        book_id=BOOK,
        ran_at=datetime.now(UTC) - timedelta(days=days),
        engine="extractive",
        own_questions=True,
        asked=40,
        correct=36 - days // 3,
        kinds=(KindCount(kind="answerable", asked=30, correct=28), KindCount(kind="off-topic", asked=10, correct=8)),
        failed=(FailedQuestion(id="battery-life", reason="answered from Power, expected a refusal"),),
    )


async def fill_journal(app: App) -> None:
    records = {record.title: record for record in await app.catalog.records(BOOK)}
    cited = records["Workspaces and Packages"]
    for question in questions(QuotedLesson(lesson_id=cited.lesson_id, title=cited.title, url=cited.url)):
        await app.journal.note(question)
    for days in (0, 4, 9, 13):
        await app.validations.add(validation_run(days))


async def author(scene: Scene, view: str = "overview", book: str = BOOK) -> None:
    scope = json.dumps({"bookId": book, "days": 30})
    await scene.page.add_init_script(f"sessionStorage.setItem('bookwise:author:scope', {json.dumps(scope)})")
    await scene.page.goto(f"{scene.keyed_url}/author#{view}")
    await scene.page.get_by_label("Admin key").fill(scene.admin)
    await scene.page.keyboard.press("Enter")
    await scene.page.locator(".view:not([aria-busy])").wait_for()


def author_view(view: str) -> State:
    async def state(scene: Scene) -> None:
        await author(scene, view)

    state.__name__ = f"author_{view.replace('-', '_')}"
    return state


async def author_sign_in(scene: Scene) -> None:
    await scene.page.goto(f"{scene.keyed_url}/author")
    await scene.page.get_by_label("Admin key").fill(scene.reader)
    await scene.page.keyboard.press("Enter")
    await scene.page.get_by_role("alert").wait_for()


async def author_question(scene: Scene) -> None:
    await author(scene, "unanswered")
    await scene.page.locator(".group", has_text=REFUSED).locator("summary").first.click()
    await scene.page.locator(".questions summary", has_text=REFUSED).first.click()
    await scene.page.locator(".detail pre").wait_for()


async def author_group(scene: Scene) -> None:
    await author(scene, "unanswered")
    await scene.page.locator(".group summary").first.click()


async def author_job(scene: Scene) -> None:
    await author(scene, "books")
    await scene.page.get_by_role("button", name="Ingest all of Physical").click()
    await scene.page.locator("progress").wait_for()


async def author_outcomes(scene: Scene) -> None:
    await author(scene, "books")
    await scene.page.get_by_role("button", name="Lessons of job").last.click()
    await scene.page.get_by_role("table", name="Lessons").wait_for()


async def author_warnings(scene: Scene) -> None:
    await author(scene, "books")
    await scene.page.get_by_role("button", name="Lessons of job 2").click()
    await scene.page.get_by_role("list", name="Warnings").scroll_into_view_if_needed()


async def author_remove(scene: Scene) -> None:
    await author(scene, "books")
    await scene.page.get_by_role("button", name="Remove Bread").click()


async def author_new_key(scene: Scene) -> None:
    await author(scene, "keys")
    await scene.page.get_by_label("Name").fill("course site")
    await scene.page.get_by_role("button", name="Create key").click()
    await scene.page.locator(".note code").wait_for()


async def author_empty(scene: Scene) -> None:
    """A book that no one has asked."""
    await author(scene, book=BREAD)
    await scene.page.get_by_text("No reader has asked").wait_for()


VIEWS = ("overview", "unanswered", "low-confidence", "disliked", "lessons", "validation", "books", "keys")
PAGE_STATES: tuple[State, ...] = (
    empty, searching, streaming, stopped, answer, table, formula, items, citation, refusal, refusal_nearby,
    other_language, doubt, choices, follow_up, rating, conversations, renaming, deleting, filters, too_long, lost, busy,
    key, wrong_key, no_service, without_site, lesson, lesson_start, lesson_end, no_lesson,
)  # fmt: skip
WIDGET_STATES: tuple[State, ...] = (
    widget_closed, widget_open, widget_answer, widget_citation, widget_refusal, widget_hostile, widget_hostile_forced,
    widget_themed, widget_modal, widget_german, widget_selection, widget_forbidden,
)  # fmt: skip
AUTHOR_STATES: tuple[State, ...] = (
    author_sign_in, *map(author_view, VIEWS), author_group, author_question, author_job, author_outcomes,
    author_warnings, author_remove, author_new_key, author_empty,
)  # fmt: skip
STATES = PAGE_STATES + WIDGET_STATES + AUTHOR_STATES
