"""Citations in the text of a model become [n] after their sentence."""

from dataclasses import replace
from typing import Any

import pytest

from bookwise.answering.grounding.citations import quote_for, resolve_citations
from bookwise.domain.answers import Passage
from tests.support.builders import chunks


def passage(number: int, title: str, text: str, section: str = "", **place_fields: Any) -> Passage:
    (chunk,) = chunks(title, "r1", text)
    place = replace(
        chunk.locator,
        page_title=title,
        section_title=section or None,
        heading_path=(section,) if section else (),
        **place_fields,
    )
    return Passage(number=number, chunk=replace(chunk, text=text, locator=place), score=1.0)


PASSAGES = (
    passage(1, "Installation", "Install it with pip. Python 3.11 is needed.", "Requirements"),
    passage(2, "Nodes and Topics", "A node publishes messages on a topic."),
    passage(3, "Installation", "On Windows, run the setup program as administrator.", "Windows"),
    passage(4, "Reading, Writing, and Files", "Open a file before you read it."),
)


@pytest.mark.parametrize(
    ("written", "read", "numbers"),
    [
        ("Use pip [1].", "Use pip. [1]", (1,)),
        ("Use pip. [1]", "Use pip. [1]", (1,)),
        ("Use pip.[1]", "Use pip. [1]", (1,)),
        ("Use pip[1].", "Use pip. [1]", (1,)),
        ("Use pip [1, 2].", "Use pip. [1][2]", (1, 2)),
        ("Use pip [1][2].", "Use pip. [1][2]", (1, 2)),
        ("Use pip [1-3].", "Use pip. [1][2][3]", (1, 2, 3)),
        ("Use pip【1】.", "Use pip. [1]", (1,)),
        ("Use pip【2†source】.", "Use pip. [2]", (2,)),
        ("Use pip [Source 2].", "Use pip. [2]", (2,)),
        ("A node publishes [source: nodes and topics].", "A node publishes. [2]", (2,)),
        ("Use pip [Source: Installation; Nodes and Topics].", "Use pip. [1][2]", (1, 2)),
        ("Use pip [Source: Installation, Nodes and Topics].", "Use pip. [1][2]", (1, 2)),
        ("Open it [Source: Reading, Writing, and Files].", "Open it. [4]", (4,)),
        ("Run it [Source: Installation › Windows].", "Run it. [3]", (3,)),
        ("Run it [Source: Installation › Nowhere].", "Run it. [1]", (1,)),
        ("A node publishes (from Chapter 2: Nodes and Topics).", "A node publishes. [2]", (2,)),
        ("- Use pip [1]\n- Then go [2]\n", "- Use pip [1]\n- Then go [2]\n", (1, 2)),
        ("First, use pip [1]. Then [2] go on.", "First, use pip. [1] Then go on. [2]", (1, 2)),
        ("Use pip. [1] Then go on.", "Use pip. [1] Then go on.", (1,)),
        ("| a | b |\n|---|---|\n| x | 1 [Source: Installation] |\n", "| a | b |\n|---|---|\n| x | 1 [1] |\n", (1,)),
    ],
)
def test_every_way_of_citing_becomes_a_number_after_the_sentence(
    written: str, read: str, numbers: tuple[int, ...]
) -> None:
    cited = resolve_citations(written, PASSAGES)
    assert (cited.text, cited.numbers, cited.removed) == (read, numbers, 0)


CHAPTERS = (
    passage(1, "Chapter 1: Getting Started", "Install it with pip.", "Prerequisites", chapter=1),
    passage(
        2, "Nodes", "A node publishes messages.", "Talking", chapter=2, breadcrumb=("Part One", "Chapter 2: ROS 2")
    ),
    passage(3, "Launch Files", "A launch file starts nodes.", chapter=3, breadcrumb=("Part One", "Simulation")),
)


@pytest.mark.parametrize(
    ("citation", "number"),
    [
        ("(from Chapter 1: Getting Started)", 1),
        ("(from Getting Started)", 1),
        ("[Source: Getting Started]", 1),
        ("(from Chapter 1)", 1),
        ("(from Chapter 1: Prerequisites)", 1),
        ("(from Chapter 1: Getting Started - Prerequisites)", 1),
        ("(from Chapter 1: Getting Started, Prerequisites)", 1),
        ("(from Chapter 1: Getting Started, section Prerequisites)", 1),
        ("(from the section Prerequisites)", 1),
        ("(from the Prerequisites section)", 1),
        ('(from "Prerequisites" in Chapter 1: Getting Started)', 1),
        ("(from Chapter 2: ROS 2)", 2),
        ("(from Chapter 2: ROS 2 › Nodes)", 2),
        ("(from Part One › ROS 2 › Nodes › Talking)", 2),
        ("[Source: ROS 2]", 2),
        ("[Source: Nodes, page Talking]", 2),
        ("(from Chapter 3: Simulation)", 3),
        ("[Source: Chapter 3: Launch Files]", 3),
    ],
)
def test_a_citation_by_chapter_section_or_page_names_the_passage_retrieved_from_there(
    citation: str, number: int
) -> None:
    cited = resolve_citations(f"It is so {citation}.", CHAPTERS)
    assert (cited.text, cited.numbers, cited.removed) == (f"It is so. [{number}]", (number,), 0)


@pytest.mark.parametrize("citation", ["(from Chapter 9)", "(from Chapter 9: Talking Robots)", "[Source: Chapter 7]"])
def test_a_chapter_that_was_not_retrieved_is_no_source(citation: str) -> None:
    cited = resolve_citations(f"It is so {citation}.", CHAPTERS)
    assert (cited.text, cited.numbers, cited.removed) == ("It is so.", (), 1)


@pytest.mark.parametrize(
    "text",
    [
        "Write `x[1]` to read the second element.",
        "Write `[1]` for a list of one.",
        "```python\nx = y[1]\nz = [1, 2]\n```\n",
        "Then x[1] is the second element.",
        "Read [the guide](https://example.org/guide) and [1](https://example.org).",
        "As a footnote says.[^1]",
        "Values lie in the range [1, 2] at most.",
        "Values lie between [0, 1] here.",
        "It was made [2024] in a hurry.",
        "Start it (from the command line).",
    ],
)
def test_brackets_that_cite_nothing_stay_as_they_are(text: str) -> None:
    cited = resolve_citations(text, PASSAGES)
    assert (cited.text, cited.numbers, cited.removed) == (text, (), 0)


@pytest.mark.parametrize(
    ("written", "read", "removed"),
    [
        ("Use pip [9].", "Use pip.", 1),
        ("Use pip [1, 9].", "Use pip. [1]", 1),
        ("Use pip [Source: The Moon].", "Use pip.", 1),
        ("Use pip (from Chapter 9: The Moon).", "Use pip.", 1),
        ("Use pip [8][9] today.", "Use pip today.", 2),
    ],
)
def test_a_citation_of_what_was_not_retrieved_is_removed_and_counted(written: str, read: str, removed: int) -> None:
    cited = resolve_citations(written, PASSAGES)
    assert (cited.text, cited.removed) == (read, removed)


def test_a_title_that_several_passages_share_means_the_one_that_carries_the_sentence() -> None:
    cited = resolve_citations("Run the setup program as administrator [Source: Installation].", PASSAGES)
    assert cited.numbers == (3,)


def test_a_quote_is_the_unit_of_the_passage_that_says_it() -> None:
    assert quote_for("You need Python 3.11 [1].", PASSAGES[0]) == "Python 3.11 is needed."


def test_a_quote_is_no_heading() -> None:
    node = passage(1, "Nodes", "## Nodes publish messages\n\nEvery node may publish messages.")
    assert quote_for("Nodes publish messages.", node) == "Every node may publish messages."
