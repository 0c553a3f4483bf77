"""Answers, sessions, passages and lessons as HTML, and what helps a reader to begin."""

from pathlib import Path
from typing import Any

import pytest
from selectolax.lexbor import LexborHTMLParser

from bookwise.api.rendering import answers
from bookwise.api.rendering.markdown import render
from tests.support.apps import ingested, write_book
from tests.support.http_service import Opened, events_in
from tests.support.small_book import BOOK

pytestmark = pytest.mark.anyio

VALVE = "When does the irrigation valve open?"
QUOTE = "It closes again at 45 percent,\nso that the valve does not flutter."


async def asked(opened: Opened, **more: Any) -> dict[str, Any]:
    answer = await opened.client.post("/chat/run", json={"message": VALVE, "html": True, **more})
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


async def test_an_answer_is_html_only_on_request_and_the_same_after_a_reload(opened: Opened) -> None:
    answer = await asked(opened)
    assert "<mark>The irrigation valve opens" in answer["html"]
    assert '<sup data-cite="1">1</sup>' in answer["html"]
    assert "html" not in (await opened.client.post("/chat/run", json={"message": VALVE})).json()
    plain = (await opened.client.get(f"/session/{answer['session_id']}")).json()["messages"][1]
    stored = (await opened.client.get(f"/session/{answer['session_id']}?html=true")).json()["messages"][1]
    assert "html" not in plain
    assert (stored["html"], stored["confidence_level"]) == (answer["html"], answer["confidence_level"])
    shown = [(source["number"], source["chunk_id"], source["quote"]) for source in answer["sources"]]
    assert [(s["number"], s["chunk_id"], s["quote"]) for s in stored["details"]["citations"]] == shown


async def test_a_stream_replaces_only_what_follows_the_elements_to_keep(opened: Opened) -> None:
    body = {"message": "How do I install the sensor package?", "html": True}
    answer = await opened.client.post("/chat/stream", json=body)
    shown: list[str] = []
    for event in events_in(answer.text):
        if event.name == "content":
            shown = shown[: event.data["keep"]] + elements(event.data["html"])
        if event.name == "done":
            assert shown == elements(event.data["html"])
    assert len(shown) > 1


async def test_a_passage_is_its_section_with_the_quote_marked_and_a_lesson_has_neighbours(opened: Opened) -> None:
    source = (await asked(opened))["sources"][0]
    query = {"html": "true", "quote": QUOTE}
    passage = (await opened.client.get(f"/context/{source['chunk_id']}", params=query)).json()
    assert "<mark>It closes again at 45 percent," in passage["html"]
    lesson_id = passage["chunk"]["metadata"]["parent_doc_id"]
    lesson = (await opened.client.get(f"/lesson/{lesson_id}", params=query)).json()
    assert lesson["sections"][0]["anchor"] == "when-the-valve-opens"
    assert "<mark>It closes again" in lesson["sections"][0]["html"]
    assert lesson["previous"]["title"] == "Moisture Sensors"
    assert lesson["next"]["title"] == "Rails and Carriages"
    plain = (await opened.client.get(f"/lesson/{lesson_id}")).json()
    assert not {"sections", "previous", "next"} & plain.keys()


@pytest.mark.own_index
async def test_links_in_a_lesson_open_the_pages_of_other_lessons(opened: Opened, tmp_path: Path) -> None:
    lessons = {
        "bookwise.toml": '[book]\nid = "linked"\nbase_url = "https://b.example"\n',
        "one.md": "# One\n\nSee [two](two.md#part), [a file](files/a.pdf), [gone](gone.md) and [bad](javascript:x).\n",
        "two.md": "# Two\n\nThe second lesson explains more than the first one.\n",
    }
    await ingested(opened.service.app, write_book(tmp_path / "linked", lessons), book_id="linked")
    hit = (await opened.client.post("/search", json={"text": "see two", "book_id": "linked"})).json()["results"][0]
    html = (await opened.client.get(f"/context/{hit['chunk_id']}?html=true")).json()["html"]
    links = [node.attributes["href"] for node in LexborHTMLParser(html).css("a")]
    assert [link for link in links if link and "two" in link and link.endswith("#part")]
    assert len(links) == 2
    assert "gone" in html


async def test_a_book_offers_questions_and_only_filters_that_it_has(opened: Opened) -> None:
    book = (await opened.client.get(f"/books/{BOOK}")).json()
    assert book["questions"][:2] == ["What are Moisture Sensors?", "What is Irrigation?"]
    assert 3 <= len(book["questions"]) <= 5
    assert [module["name"] for module in book["filters"]["modules"]] == ["water", "motion"]
    assert (await opened.client.get("/books/other")).status_code == 404


async def test_a_key_does_not_show_what_helps_to_begin_with_another_book(locked: Opened) -> None:
    assert (await locked.client.get(f"/books/{BOOK}", headers=await locked.key("other"))).status_code == 404


async def test_a_filter_limits_an_answer(opened: Opened) -> None:
    answer = await asked(opened, module="motion")
    assert "moisture" not in answer["response"]
    wrong = await opened.client.post("/chat/run", json={"message": VALVE, "module": "nothing"})
    assert (wrong.status_code, wrong.json()["code"]) == (422, "validation")


def elements(html: str) -> list[str]:
    body = LexborHTMLParser(f"<main>{html}</main>").css_first("main")
    return [node.html or "" for node in body.iter()]


async def test_a_quote_is_rendered_once_for_the_stream_the_end_and_a_reload(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    rendered: list[str] = []

    def counted(text: str, *args: Any, **options: Any) -> str:
        rendered.append(text)
        return render(text, *args, **options)

    monkeypatch.setattr(answers, "render", counted)
    answers.answer_html.cache_clear()
    for _ in range(2):
        stream = await opened.client.post("/chat/stream", json={"message": VALVE, "html": True})
        done = events_in(stream.text)[-1].data
        await opened.client.get(f"/session/{done['session_id']}?html=true")
    assert rendered == [done["response"]]
