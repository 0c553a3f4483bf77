"""E-mail addresses and keys are masked, other words are not."""

import pytest

from bookwise.text.masking import mask

SECRET = "bw_" + "aB3-" * 10 + "xyz"


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("write to bob.x+y@mail.uni.example now", "write to [e-mail] now"),
        ("Änne@bücher.example?", "[e-mail]?"),
        (f"my key {SECRET} fails", "my key [key] fails"),
        ("sk-proj-abcdefghijk12345 and ghp_abcdefghijklmnop1234", "[key] and [key]"),
        ("Authorization: Bearer abc.def-ghi12345", "Authorization: Bearer [key]"),
        ("AKIA1234567890ABCDEF", "[key]"),
        ("token 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b", "token [key]"),
    ],
)
def test_what_identifies_a_person_or_opens_a_door_is_masked(typed: str, shown: str) -> None:
    assert mask(typed) == shown


@pytest.mark.parametrize(
    "typed",
    [
        "What does @property do?",
        "ros2 topic echo /cmd_vel",
        "session 550e8400-e29b-41d4-a716-446655440000",
        "a_very_long_function_name_that_has_no_digits_in_it_at_all",
        "https://book.example/module-1-ros2/chapter-1-foundations/workspaces-and-packages",
        "",
    ],
)
def test_words_of_a_technical_question_stay(typed: str) -> None:
    assert mask(typed) == typed
