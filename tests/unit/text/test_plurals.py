"""Counts in messages."""

from bookwise.text.plurals import plural


def test_one_thing_is_singular() -> None:
    assert [plural(count, "lesson") for count in (0, 1, 2)] == ["0 lessons", "1 lesson", "2 lessons"]
