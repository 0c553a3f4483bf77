"""Lesson file and bytes → lesson: title, sections, and what is refused."""

import pytest

from bookwise.domain.errors import BadLesson
from bookwise.ingestion.parse import ParseOptions, parse
from tests.support.builders import lesson_file
from tests.support.parsed import anchors, lesson, paths


@pytest.mark.parametrize(
    ("text", "facts", "title"),
    [
        ("# Loops\n", {"title": "While loops"}, "While loops"),
        ("Text\n\n## A\n\n# Loops & *more*\n", {}, "Loops & more"),
        ("## A\n", {"source_file": "guide/01-robot_arms.md"}, "Robot arms"),
        ("", {"source_file": "guide/sensors/index.md"}, "Sensors"),
        ("", {"source_file": "README.md"}, "README"),
        ("---\ntitle: Not read here\n---\n# Loops\n", {}, "Loops"),
    ],
)
def test_the_title_is_given_or_the_first_h1_or_the_name_of_the_file(
    text: str, facts: dict[str, object], title: str
) -> None:
    assert lesson(text, **facts).title == title


def test_the_title_heading_stays_out_of_the_paths() -> None:
    text = "Before\n\n# Title\n\nA\n\n## A\n\n### B\n\n# Second\n\n## C\n"
    found = lesson(text, title="Title")
    assert [s.heading_path for s in found.sections] == [
        (),
        (),
        ("A",),
        ("A", "B"),
        ("Second",),
        ("Second", "C"),
    ]
    assert [s.blocks[0].text for s in found.sections] == [
        "Before",
        "# Title",
        "## A",
        "### B",
        "# Second",
        "## C",
    ]


def test_a_lesson_named_otherwise_still_has_its_only_h1_as_title_heading() -> None:
    assert paths("# Long title\n\n## A\n", title="Short") == [(), ("A",)]


def test_a_lesson_that_uses_h1_for_its_parts_keeps_them_all_in_the_paths() -> None:
    assert paths("# One\n\n# Two\n\n## A\n", title="The lesson") == [("One",), ("Two",), ("Two", "A")]


@pytest.mark.parametrize(
    ("site", "fragment"),
    [
        ("mdbook", "title"),
        ("mkdocs", "title"),
        ("sphinx", "title"),
        ("folder", "title"),
        ("jupyter-book", "title"),
        ("docusaurus", ""),
    ],
)
def test_the_title_has_the_fragment_of_its_site(site: str, fragment: str) -> None:
    assert anchors("# Title\n\n## Title\n", site=site)[0] == fragment


def test_skipped_levels_do_not_invent_headings() -> None:
    assert paths("# T\n\n#### D\n\n## B\n\n### C\n") == [(), ("D",), ("B",), ("B", "C")]


@pytest.mark.parametrize("text", ["", " \n\n", "---\ntitle: A\n---\n", "<!-- only a comment -->\n"])
def test_a_lesson_without_text_has_no_sections(text: str) -> None:
    assert lesson(text).sections == ()


def test_line_ends_and_marks_make_no_difference() -> None:
    plain = "---\na: 1\n---\n# T\n\n- x\n- y\n\n```py\na\n\nb\n```\n"
    expected = parse(lesson_file(), plain.encode())
    for raw in (plain.replace("\n", "\r\n").encode(), plain.replace("\n", "\r").encode(), plain.encode("utf-16")):
        assert parse(lesson_file(), raw) == expected


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"caf\xe9", "encoding"),
        (b"a\0", "encoding"),
        (b"---\na: [\n---\n", "front-matter"),
        (b"x" * 101, "too-large"),
        (b"> " * 50, "too-deep"),
    ],
)
def test_what_cannot_be_read_is_refused_with_a_reason(raw: bytes, reason: str) -> None:
    deep = raw if reason != "too-deep" else b">" * 5000
    options = ParseOptions(max_bytes=100) if reason == "too-large" else ParseOptions()
    with pytest.raises(BadLesson) as caught:
        parse(lesson_file(), deep, options)
    assert caught.value.reason == reason
    assert caught.value.message


def test_the_limit_is_eight_mebibytes() -> None:
    with pytest.raises(BadLesson, match="8,388,609 bytes"):
        parse(lesson_file(), b"a" * (8 * 1024 * 1024 + 1))
    assert parse(lesson_file(), b"a" * (8 * 1024 * 1024)).sections


def test_a_heading_of_extreme_length_is_cut_in_paths_but_not_in_its_block() -> None:
    found = lesson("# T\n\n## " + "word " * 10_000)
    assert len(found.sections[1].heading_path[0]) == 300
    assert found.sections[1].blocks[0].text.count("word") == 10_000
