"""Every trap of the book of traps is discovered as its list says."""

from contextlib import suppress
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import get_args

import pytest

from bookwise.domain.books import Audience, LessonFile, SiteKind
from bookwise.domain.errors import BadLesson
from bookwise.ingestion.discover import Discovery, discover, read_lesson
from bookwise.ingestion.discovery.reading import sha256
from bookwise.ingestion.discovery.walk import format_of
from bookwise.ingestion.parse import PARSER_VERSION, parse
from tests.support.traps import TRAPS, trap_book, written_expectations


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    return trap_book(tmp_path_factory.mktemp("traps"))


@pytest.fixture(scope="module")
def discovery(book: tuple[Path, dict[str, str]]) -> Discovery:
    return discover(book[0])


def verdicts(discovery: Discovery) -> dict[str, str]:
    lessons = {file.source_file: "lesson" for file in discovery.files}
    left_out = {left.source_file: f"left out: {left.rule}" for left in discovery.left_out}
    broken = {one.source_file: f"unreadable: {one.reason}" for one in discovery.unreadable}
    assert len(lessons) + len(left_out) + len(broken) == len(lessons | left_out | broken)
    return lessons | left_out | broken


def lesson(discovery: Discovery, name: str) -> LessonFile:
    return next(file for file in discovery.files if file.source_file.endswith(name))


def test_every_file_of_the_book_is_listed_with_what_is_expected_of_it() -> None:
    on_disk = {path.relative_to(TRAPS).as_posix() for path in TRAPS.rglob("*") if format_of(path.name)}
    assert on_disk - {"static/raw.html"} == set(written_expectations())


def test_every_trap_is_discovered_as_expected(book: tuple[Path, dict[str, str]], discovery: Discovery) -> None:
    assert verdicts(discovery) == book[1]


def test_the_book_itself_is_understood(discovery: Discovery) -> None:
    assert (discovery.site, discovery.book_id, discovery.title) == ("docusaurus", "traps", "A Book of Traps")
    assert discovery.base_url == "https://traps.example/book/read/"


def test_no_two_lessons_share_an_id(discovery: Discovery) -> None:
    assert len({file.key for file in discovery.files}) == len(discovery.files)


def test_every_lesson_can_be_read_again(book: tuple[Path, dict[str, str]], discovery: Discovery) -> None:
    for file in discovery.files:
        assert sha256(read_lesson(book[0], file)) == file.file_hash


def test_no_address_leaves_the_book(discovery: Discovery) -> None:
    assert {file.url.startswith(discovery.base_url) for file in discovery.files} == {True}
    assert lesson(discovery, "slug-elsewhere.md").url == discovery.base_url + "x"


def test_line_ends_marks_and_encodings_hide_no_front_matter(discovery: Discovery) -> None:
    titles = [lesson(discovery, name).title for name in ("01-crlf.md", "02-bom.md", "03-utf-16.md")]
    assert titles == ["Lines of another system", "A byte-order mark", "UTF-16"]


def test_odd_front_matter_says_what_it_can(discovery: Discovery) -> None:
    dated = lesson(discovery, "10-title-is-a-date.md")
    assert dated.title == "2024-02-29"
    assert dated.audience == Audience(hardware_tier=3, proficiency_level="B1", layer="L2")
    assert lesson(discovery, "02-nulls.md").audience == Audience()
    assert lesson(discovery, "15-toml.md").title == "Front matter in TOML"


def test_a_copy_names_its_original(discovery: Discovery) -> None:
    details = {left.source_file: left.detail for left in discovery.left_out}
    assert details["docs/module-4-hostile/chapter-2-copies/02-the-copy.md"] == (
        "of docs/module-4-hostile/chapter-2-copies/01-the-original.md"
    )


def test_a_second_look_finds_the_same(book: tuple[Path, dict[str, str]], discovery: Discovery) -> None:
    assert discover(book[0]) == discovery


def test_another_reading_of_a_lesson_has_another_version(
    book: tuple[Path, dict[str, str]], discovery: Discovery
) -> None:
    """An ingest reads unchanged files again only if the version of the parser has changed. If this fails because a trap
    was added, only the digest is new; otherwise raise `PARSER_VERSION` too."""
    texts: list[str] = []
    own = [file for file in discovery.files if (TRAPS / file.source_file).is_file()]
    for file, site in product(own, get_args(SiteKind)):
        with suppress(BadLesson):
            lesson = parse(replace(file, site=site), read_lesson(book[0], file))
            texts += [block.text for section in lesson.sections for block in section.blocks]
    assert len(texts) > 500
    digest = sha256("\0".join(texts).encode())[:16]
    assert (PARSER_VERSION, digest) == ("2", "eb76872672981027")
