"""A strange word takes the spelling of the passages where one slip lies between them, and no other."""

import pytest

from bookwise.answering.evidence.spelling import correct_spelling

TEXT = (
    "Céloron buried plates. Montcalm slipped away; the Protein is persistent, and the French fort has trust in William."
)


@pytest.mark.parametrize(
    ("question", "strange", "meant"),
    [
        ("What did Celeron bury?", "Celeron", "What did Céloron bury?"),
        ("What was Celeron's goal?", "Celeron", "What was Céloron's goal?"),
        ("What was Celeron’s goal?", "Celeron", "What was Céloron’s goal?"),
        ("Where did Moncalm go?", "Moncalm", "Where did Montcalm go?"),
        ("is protain bad", "protain", "is Protein bad"),
        ("the Frrench fort", "Frrench", "the French fort"),
        ("Who was Wililam?", "Wililam", "Who was William?"),
    ],
    ids=["mark and letter", "possessive", "typographic possessive", "missing", "wrong", "too many", "swapped"],
)
def test_one_slip_is_put_right(question: str, strange: str, meant: str) -> None:
    assert correct_spelling(question, [strange], [TEXT]) == meant


@pytest.mark.parametrize(
    "strange",
    ["Rust", "grench", "Frenchmen", "prtoien", "fr3nch"],
    ids=["too short", "another beginning", "longer", "two slips", "not a word"],
)
def test_what_differs_in_more_stays(strange: str) -> None:
    question = f"What about {strange}?"
    assert correct_spelling(question, [strange], [TEXT]) == question


def test_words_the_book_knows_stay_whatever_the_passages_say() -> None:
    assert correct_spelling("Where did Moncalm go?", [], [TEXT]) == "Where did Moncalm go?"


def test_only_whole_words_are_replaced() -> None:
    assert correct_spelling("protain in protains", ["protain"], [TEXT]) == "Protein in protains"


def test_the_spelling_may_come_from_any_passage() -> None:
    assert (
        correct_spelling("Moncalm and protain", ["Moncalm", "protain"], ["protein", "Montcalm"])
        == "Montcalm and protein"
    )
