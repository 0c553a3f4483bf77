"""Opposites are found for every form of a word."""

import pytest

from bookwise.text.opposites import opposites
from bookwise.text.words import words


def are_opposite(word: str, other: str) -> bool:
    (first,), (second,) = words(word), words(other)
    return second in opposites(first)


@pytest.mark.parametrize(
    ("word", "other"),
    [
        ("faster", "slower"),
        ("increases", "decreased"),
        ("enabled", "disables"),
        ("before", "after"),
        ("more", "fewer"),
        ("publisher", "subscribers"),
        ("maximum", "minimum"),
        ("mutable", "immutable"),
        ("allows", "prevents"),
        ("defined", "undefined"),
        ("standard", "nonstandard"),
        ("useful", "useless"),
    ],
)
def test_opposites_work_both_ways(word: str, other: str) -> None:
    assert are_opposite(word, other)
    assert are_opposite(other, word)


@pytest.mark.parametrize(
    ("word", "other"), [("fast", "quick"), ("node", "topic"), ("open", "open"), ("start", "begin"), ("port", "import")]
)
def test_other_words_are_none(word: str, other: str) -> None:
    assert not are_opposite(word, other)
