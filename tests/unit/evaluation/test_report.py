"""The report: one file, safe, complete."""

import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from bookwise.evaluation.metrics import Evaluation, LiveBook, Minimum, judge
from bookwise.evaluation.report import report_html
from bookwise.ingestion.discovery.profile import ValidationQuestion
from tests.support.answers import answered, blocked, evidence, passage, refused

VOID = {"meta", "br"}
LIVE = LiveBook(chunks={f"chunk-{number}": passage(number).chunk for number in range(1, 6)})
EVIL = '<script>alert("x")</script>'


class Tags(HTMLParser):
    """Every tag, and whether each that was opened is closed in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.addresses: list[str] = []
        self._open: list[str] = []
        self.feed(page)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("href", "src", "srcset", "data")]
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag


def asked(id: str, kind: str, text: str, **facts: object) -> ValidationQuestion:
    place = {"lesson": "nodes.md"} if kind == "answerable" else {}
    return ValidationQuestion.model_validate({"id": id, "kind": kind, "text": text, **place, **facts})


@pytest.fixture
def page() -> str:
    said = replace(refused(0.5, 0.4), text=f"The book says {EVIL}")
    found = replace(evidence(0.5), passages=(passage(1, 0.5, text=f"Text {EVIL} of the book"),))
    pairs = (
        (asked("right-one", "answerable", "How do nodes talk?"), answered()),
        (asked("lost-one", "answerable", f"What about {EVIL}?", section="talking"), replace(said, evidence=found)),
        (asked("stray-one", "near-miss", "How do nodes sing?"), answered()),
        (asked("far-one", "off-topic", "Who won the cup?"), blocked()),
    )
    verdicts = tuple(judge(question, answer, LIVE) for question, answer in pairs)
    return report_html(
        Evaluation(book_id="book", title=f"A {EVIL} book", engine="direct", verdicts=verdicts),
        minimum=Minimum(correct=0.8),
    )


def test_the_page_is_well_formed_and_needs_nothing_else(page: str) -> None:
    tags = Tags(page)
    assert not {"script", "link", "img", "iframe", "object"} & set(tags.seen)
    assert all(address.startswith("#") for address in tags.addresses)
    assert "url(" not in page
    assert "@import" not in page
    assert "http" not in page.replace("http-equiv", "")
    assert "prefers-color-scheme:dark" in page
    assert "width=device-width" in page


def test_text_of_a_book_or_a_reader_is_never_markup(page: str) -> None:
    assert "<script" not in page
    assert page.count("&lt;script&gt;") >= 5  # title, heading, question, answer, passage


def test_every_plot_is_a_picture_with_labelled_axes(page: str) -> None:
    plots = [ET.fromstring(found) for found in re.findall(r"<svg.*?</svg>", page, re.DOTALL)]
    assert len(plots) == 5
    for plot in plots:
        words = [text.text for text in plot.iter("text")]
        assert {"average similarity", "share correct"} & set(words), words
        assert plot.get("aria-label")
    assert [float(dot.get("cx", "0")) for dot in plots[0].iter("circle")] == sorted(
        float(dot.get("cx", "0")) for dot in plots[0].iter("circle")
    )


def test_each_miss_shows_what_was_expected_said_and_found(page: str) -> None:
    misses = re.findall(r'<article class="miss" id="(.*?)">(.*?)</article>', page, re.DOTALL)
    assert [name for name, _ in misses] == ["lost-one", "stray-one"]
    lost, stray = (text for _, text in misses)
    assert "nodes.md#talking" in lost
    assert "The book says" in lost
    assert "of the book" in lost
    assert "refused (not-in-the-book), but the book has an answer" in lost
    assert "Nodes talk over topics" in stray


def test_every_question_stands_in_the_table_and_a_miss_is_linked(page: str) -> None:
    table = page[page.index("All questions") :]
    for name in ("right-one", "lost-one", "stray-one", "far-one"):
        assert name in table
    assert table.count("✓") == 2
    assert 'href="#lost-one"' in table
    assert "50.0% correct" in page
    assert "below the required 80.0%" in page


def test_the_page_shows_useful_answers_and_what_the_others_lack() -> None:
    pairs = (
        (asked("whole", "answerable", "How do nodes talk?", type="how-to", contains=["nodes talk"]), answered()),
        (asked("thin", "answerable", "Why do nodes talk?", type="why", contains=[f"to sing {EVIL}"]), answered()),
        (asked("lost", "answerable", "Which nodes talk?", contains=["all of them"]), refused(0.5)),
    )
    verdicts = tuple(judge(question, answer, LIVE) for question, answer in pairs)
    run = Evaluation(book_id="book", title="Nodes", engine="direct", verdicts=verdicts)
    page = report_html(run, minimum=Minimum(correct=0.5, useful=0.5))
    assert not {"script"} & set(Tags(page).seen)
    assert "33.3% useful</strong>: below the required 50.0%" in page
    assert "<td>how-to</td>" in page
    misses = re.findall(r'<article class="miss" id="(.*?)">', page)
    assert misses == ["lost", "thin"], "each question once, the wrong answers first"
    assert "Correct, but not useful (1)" in page
    assert "missing: &quot;to sing &lt;script&gt;" in page


def test_the_page_is_silent_about_usefulness_where_no_question_names_facts(page: str) -> None:
    assert "Usefulness" not in page
    assert "not useful" not in page
