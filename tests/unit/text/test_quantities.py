"""Numbers are read with their units, in figures and in words."""

import pytest

from bookwise.text.quantities import Quantity, in_figures, quantities, unit


def only(text: str) -> Quantity:
    (found,) = quantities(text)
    return found


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("The queue holds 10 messages.", ["10"]),
        ("It has four states and 1,000 nodes.", ["4", "1000"]),
        ("Python 3.10.1 needs 2.0 GB.", ["3.10.1", "2"]),
        ("See Listing 4-2.", ["4", "2"]),
        ("An x86 machine with ROS2.", []),
    ],
)
def test_numbers_are_found_in_order(text: str, numbers: list[str]) -> None:
    assert [quantity.number for quantity in quantities(text)] == numbers


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("It waits 500 ms.", "It waits 0.5 seconds."),
        ("It waits ten minutes.", "It waits 600 s."),
        ("It is below 30 %.", "It is below 30 percent."),
        ("It costs $5.", "It costs 5 dollars."),
        ("It needs 2 GB.", "It needs 2000 MB."),
        ("It holds 10 messages.", "It holds ten messages."),
        ("A delay of 10.", "A delay of 10 ms."),
    ],
)
def test_equal_quantities_in_any_spelling(text: str, other: str) -> None:
    assert only(text).equals(only(other))


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("It waits 500 ms.", "It waits 500 s."),
        ("It needs 8 GB.", "It needs 8 MB."),
        ("It holds 10 messages.", "It holds 20 messages."),
        ("It costs $5.", "It costs 5 €."),
    ],
)
def test_another_number_or_unit_is_not_equal(text: str, other: str) -> None:
    assert not only(text).equals(only(other))


def test_two_numbers_count_alike_when_the_same_thing_follows_them() -> None:
    assert only("It has five primary states.").counts_like(only("There are four primary states."))
    assert not only("It has five primary states.").counts_like(only("It has four motors."))


def test_a_letter_is_a_unit_in_its_own_case_only() -> None:
    assert unit("V") == ("voltage", 1.0)
    assert unit("m") == ("length", 1.0)
    assert (unit("v"), unit("M"), unit("a"), unit("node")) == (None, None, None, None)
    assert unit("ms") == unit("Milliseconds") == ("time", 0.001)


def test_number_words_and_ordinals_in_figures() -> None:
    assert (in_figures("three"), in_figures("7th"), in_figures("million"), in_figures("node")) == (
        "3",
        "7",
        "1000000",
        None,
    )
