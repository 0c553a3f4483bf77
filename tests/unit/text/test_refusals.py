"""A sentence that refuses differs from one that claims something."""

import pytest

from bookwise.text.refusals import refuses


@pytest.mark.parametrize(
    "sentence",
    [
        "I couldn't find that information in the book.",
        "I don't have information about that in the book content.",
        "I have no specific information about Mars.",
        "Sorry, I don't know.",
        "I do not know whether Mars has water.",
        "I'm unable to answer that.",
        "The provided passages do not mention quantum computers.",
        "The book says nothing about Mars.",
        "There is nothing about Mars in this book.",
        "There is no information about Mars in this book.",
        "That is not in the book.",
        "The answer is not part of the provided context.",
        "This question cannot be answered from the passages.",
        "The exact phrases are not specified in the provided document.",
    ],
)
def test_a_sentence_without_an_answer_refuses(sentence: str) -> None:
    assert refuses(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "A node is a process.",
        "You cannot find a faster robot.",
        "We don't know the size of the list at compile time.",
        "The context manager does not contain a lock.",
        "Groundwater is not found in underground rivers.",
        "The key is not in the dictionary.",
        "Nothing else in the loop changes.",
        "The book does not mention Mars, but it says that a node is a process.",
        "I don't have much information about this, but a node is a process.",
    ],
)
def test_a_sentence_that_claims_something_does_not_refuse(sentence: str) -> None:
    assert not refuses(sentence)
