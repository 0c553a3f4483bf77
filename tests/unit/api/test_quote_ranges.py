"""Where the quotes of an answer are in the text of a lesson."""

import pytest

from bookwise.api.rendering.lessons import quote_ranges

CODE = "cd ws/src\nmake\ncd ws\nmake\n"


@pytest.mark.parametrize(
    ("quotes", "starts"),
    [
        (["make", "cd ws"], [10, 15]),  # not the one above, which is the start of another command
        (["cd ws", "make"], [0, 10]),
        (["make", "make"], [10, 21]),
        (["cd ws\nmake", "cd ws/src"], [0, 15]),  # in another order than in the text
        (["make", "make", "make"], [10, 21]),
        (["not there", " ", "", "make"], [10]),
    ],
)
def test_a_quote_is_found_after_the_one_before_it(quotes: list[str], starts: list[int]) -> None:
    assert [found.start for found in quote_ranges(CODE, quotes)] == starts
