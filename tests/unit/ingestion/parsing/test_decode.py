"""Bytes → text, or an error that says how to repair the file."""

import codecs

import pytest

from bookwise.domain.errors import BadLesson
from bookwise.ingestion.parsing.decode import decode

WORDS = "naïve café 中文 😀"


@pytest.mark.parametrize(
    "raw",
    [
        WORDS.encode(),
        codecs.BOM_UTF8 + WORDS.encode(),
        codecs.BOM_UTF16_LE + WORDS.encode("utf-16-le"),
        codecs.BOM_UTF16_BE + WORDS.encode("utf-16-be"),
        codecs.BOM_UTF32_LE + WORDS.encode("utf-32-le"),
        codecs.BOM_UTF32_BE + WORDS.encode("utf-32-be"),
    ],
    ids=["utf-8", "utf-8 with mark", "utf-16 le", "utf-16 be", "utf-32 le", "utf-32 be"],
)
def test_unicode_with_and_without_a_mark_is_read(raw: bytes) -> None:
    assert decode(raw) == WORDS


def test_every_kind_of_line_end_becomes_a_newline() -> None:
    assert decode(b"a\r\nb\rc\nd\r\r\n") == "a\nb\nc\nd\n\n"


def test_latin_1_fails_with_advice_rather_than_being_guessed() -> None:
    with pytest.raises(BadLesson) as caught:
        decode("caf\xe9".encode("latin-1"))
    assert caught.value.reason == "encoding"
    assert "UTF-8" in caught.value.advice


@pytest.mark.parametrize(
    "raw",
    [
        b"a\0b",
        "plain".encode("utf-16-le"),
        codecs.BOM_UTF16_LE + b"\x00",
        codecs.BOM_UTF16_LE + b"\x00\xd8",
        codecs.BOM_UTF32_LE + b"\xff\xff\xff\xff",
        b"\xed\xa0\x80",
        b"\xff\xfe\xff",
    ],
    ids=["NUL", "utf-16 without mark", "half a character", "lone surrogate", "beyond Unicode", "surrogate", "odd"],
)
def test_what_is_not_text_is_refused(raw: bytes) -> None:
    with pytest.raises(BadLesson) as caught:
        decode(raw)
    assert caught.value.reason == "encoding"


def test_an_empty_file_is_an_empty_text() -> None:
    assert decode(b"") == ""
    assert decode(codecs.BOM_UTF8) == ""
