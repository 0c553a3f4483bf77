"""150 scripts in the text and titles of a book, in questions, answers and errors: none runs in the real browser.

The service renders them as always; its responses are put together here, so that one page shows them all. `make trust`
shows the same scripts by way of a real book, a model and a service."""

import json
from collections.abc import Callable, Sequence
from typing import Any
from uuid import uuid4

import pytest
from benchmarks.trust.xss import PAYLOADS, SCAN, payloads
from playwright.async_api import Page, Request, Route, expect

from bookwise.api.rendering.lessons import passage_html
from bookwise.api.rendering.links import LessonLinks
from bookwise.api.rendering.markdown import render
from tests.support.served import Served

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

CANARY = "https://canary.example"
SESSION, CHUNK = str(uuid4()), str(uuid4())
LINKS = LessonLinks("01.md", "https://book.example/01", {})

#: Asks each text, and gets it back as an error. The response is made in the page: 150 requests would take seconds.
FAIL = """async (texts) => {
  const real = fetch;
  for (const text of texts) {
    const problem = { status: 422, title: text, detail: text, advice: text, code: text };
    window.fetch = async () => new Response(JSON.stringify(problem), { status: 422 });
    await bookwiseChat.ask(text);
  }
  window.fetch = real;
}"""

Render = Callable[[str], str]


def place(payload: str) -> dict[str, Any]:
    names = dict.fromkeys(("page_title", "section", "title", "line", "url", "quote"), payload)
    return {"number": 1, "chunk_id": CHUNK, **names}


def messages(hostile: Sequence[str], to_html: Render) -> list[dict[str, Any]]:
    found = []
    for payload in hostile:
        details = {
            "outcome": "answered",
            "answer_id": str(uuid4()),
            "citations": [place(payload)],
            "related": [place(payload)],
            "disclaimer": payload,
        }
        shown = {"content": f"{payload} [1]", "html": to_html(f"{payload} [1]"), "confidence_level": "high"}
        found += [{"role": "user", "content": payload}, {"role": "assistant", "details": details, **shown}]
    return found


def lesson(payload: str, html: str) -> dict[str, Any]:
    metadata = {"breadcrumb": [payload, payload], "url": payload, "parent_doc_id": payload, "book_id": payload}
    other = {"parent_doc_id": payload, "title": payload}
    section = {"anchor": payload, "html": html, "chunk_ids": [CHUNK]}
    whole = {"title": payload, "url": payload, "book_id": payload, "sections": [section]}
    chunk = {"metadata": metadata}
    return {**whole, "chunk": chunk, "chunks": [chunk], "html": html, "previous": other, "next": other}


async def answer(page: Page, hostile: Sequence[str], to_html: Render) -> None:
    """Replaces the responses of the service by hostile ones."""
    guide = {
        "questions": list(hostile),
        "filters": {
            "modules": [{"name": text, "title": text} for text in hostile],
            "proficiency_levels": list(hostile),
        },
    }
    book_text = lesson(hostile[1], "".join(passage_html(text, [text], LINKS) for text in hostile))
    responses = {
        "/books": {"books": [{"id": text, "title": text} for text in hostile]},
        "/books/": guide,
        "/session/": {"messages": messages(hostile, to_html)},
        "/context/": book_text,
        "/lesson/": book_text,
    }

    async def fulfil(route: Route) -> None:
        path = route.request.url.partition("//")[2].partition("/")[2]
        kind = "/" + path.split("/")[0] + ("/" if "/" in path else "")
        if kind in responses and not path.endswith(".js"):
            return await route.fulfill(json=responses[kind])
        return await route.continue_()

    await page.route("**/*", fulfil)


async def remember(page: Page, site: Served, values: dict[str, Any]) -> None:
    """What the browser stores about the conversations."""
    entries = {f"bookwise:{site.url}/:{name}": json.dumps(value) for name, value in values.items()}
    await page.add_init_script(
        f"for (const [name, value] of Object.entries({json.dumps(entries)})) localStorage.setItem(name, value);"
    )


@pytest.mark.parametrize("is_broken", [False, True], ids=["safe", "control"])
async def test_no_script_of_a_book_a_model_or_a_reader_runs(page: Page, site: Served, is_broken: bool) -> None:
    """The control shows the text of answers as HTML: then the check finds elements that do not belong there."""
    requests: list[str] = []

    def note(request: Request) -> None:
        requests.append(request.url)

    page.on("request", note)
    hostile = payloads(CANARY)
    assert len(hostile) == PAYLOADS == 150
    if is_broken:
        hostile = hostile[1:3]
    await answer(page, hostile, str if is_broken else lambda text: render(text, [], cited=True))
    titles = [{"id": text, "book": hostile[0], "title": text} for text in hostile]
    await remember(page, site, {"open": {hostile[0]: SESSION}, "threads": titles})
    await page.goto(site.url)
    await expect(page.locator(".bw-exchange")).to_have_count(len(hostile))
    bad = await page.evaluate(SCAN)
    if is_broken:
        assert any("element IMG" in each for each in bad)
        return
    await page.locator(".bw-source").last.click()
    await expect(page.locator(".bw-panel-links a").last).to_be_visible()
    await page.get_by_role("button", name="New", exact=True).click()
    await expect(page.locator(".bw-starters button")).to_have_count(len(hostile))
    bad += await page.evaluate(SCAN)
    await page.evaluate(FAIL, hostile)
    await expect(page.get_by_role("alert")).to_have_count(len(hostile))
    bad += await page.evaluate(SCAN)
    await page.goto(f"{site.url}/read/{uuid4()}?quote=x")
    await expect(page.get_by_role("navigation", name="Lessons")).to_be_visible()
    bad += await page.evaluate(SCAN)
    assert bad == []
    assert [url for url in requests if url.startswith(CANARY)] == []
