"""Every sentence of an answer is held against the passages."""

import pytest

from bookwise.answering.grounding.claims import claims_something, is_refusal
from bookwise.answering.grounding.sentence_gate import SentenceGate
from bookwise.answering.grounding.support import (
    DOUBTFUL,
    LEAST_SUPPORT,
    CheckedSegment,
    answer_support,
    grounding_of,
    is_grounded,
    overlap,
    support,
    supported,
)
from bookwise.domain.answers import Passage
from tests.support.builders import chunks

TEXT = """A node is a process that performs computation. Nodes talk to each other over topics.
The queue of a publisher holds 10 messages by default. You must not call `spin` from a callback.

Create a publisher with `create_publisher`:

```python
node = Node("talker")
pub = node.create_publisher(String, "chatter", 10)
```

| Policy | Depth |
|---|---|
| reliable | 10 |
| volatile | 5 |
"""
OTHER = (
    "Gazebo simulates robots with physics. Start it with the launch file of your workspace. It needs a graphics card."
)


def passages(*texts: str) -> tuple[Passage, ...]:
    made = chunks("nodes", "r1", *texts)
    assert len(made) == len(texts)
    return tuple(Passage(number=number, chunk=chunk, score=1.0) for number, chunk in enumerate(made, 1))


BOOK = passages(TEXT, OTHER)


def checked(answer: str, book: tuple[Passage, ...] = BOOK) -> list[CheckedSegment]:
    gate = SentenceGate(book)
    return [*gate.feed(answer), *gate.close()]


@pytest.mark.parametrize(
    "sentence",
    [
        "A node is a process that performs computation.",
        "A node is a process performing computations [1].",
        "By default, the publisher's queue holds 10 messages.",
        "By default, the queue of a publisher holds ten messages.",
        "Nodes talk over topics, and a publisher's queue holds 10 messages by default.",
        "- Use `create_publisher` to create a publisher.",
        "Gazebo simulates robots, and needs a graphics card.",
        '```python\npub = node.create_publisher(String, "chatter", 10)  # ten at most\n```',
        "| Policy | Depth |\n|---|---|\n| reliable | 10 |",
    ],
)
def test_what_the_book_says_is_supported(sentence: str) -> None:
    assert supported(sentence, BOOK)


@pytest.mark.parametrize(
    "sentence",
    [
        "The queue of a publisher holds 20 messages by default.",
        "The queue of a publisher holds 1,000 messages by default.",
        "A node in Unity is a process that performs computation.",
        "Create a publisher with `make_publisher`.",
        "You must call `spin` from a callback.",
        "Nodes do not talk to each other over topics.",
        "Kubernetes schedules containers on a cluster of machines.",
        "Topics were invented by engineers who disliked shared memory.",
        '```python\nimport requests\nrequests.post("http://example.org")\n```',
        "| Policy | Depth |\n|---|---|\n| eventual consistency | 77 |\n| linearizable | 99 |",
    ],
)
def test_what_the_book_does_not_say_is_not_supported(sentence: str) -> None:
    assert not supported(sentence, BOOK)


def test_a_list_item_is_as_supported_as_its_weakest_sentence() -> None:
    item = "- Nodes talk to each other over topics. They were invented in Zurich by chance."
    assert support(item, BOOK) == support("They were invented in Zurich by chance.", BOOK)


def test_nothing_is_supported_without_passages() -> None:
    assert support("A node is a process.", ()) == 0.0


@pytest.mark.parametrize(
    "sentence",
    [
        "Sure!",
        "You're welcome.",
        "Here are the steps:",
        "To install it, follow these steps:",
        "## Installing on Windows",
        "**Installation**",
        "Which version do you use?",
        "Let me know if you have any questions.",
        "I couldn't find that information in the book.",
        "I don't have information about that in the book content.",
        "The provided passages do not mention quantum computers.",
        "[1]",
    ],
)
def test_courtesy_headings_questions_transitions_and_refusals_claim_nothing(sentence: str) -> None:
    assert not claims_something(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "A node is a process.",
        "Sure, a node is a process.",
        "- **Nodes**: they publish messages.",
        "You cannot find a faster robot.",
        "It was released in 2010:",
        "```\npip install it\n```",
        "The context manager does not contain a lock.",
    ],
)
def test_statements_claim_something(sentence: str) -> None:
    assert claims_something(sentence)


@pytest.mark.parametrize(
    "text",
    [
        "I couldn't find that information in the book.",
        "I don't have information about that in the book content.",
        "I'm sorry, but I could not find anything about Mars in the book. Please try another question.",
        "That is not covered in the provided passages.",
        "There is no information about Mars in this book.",
        "The book does not cover this topic.",
    ],
)
def test_a_text_that_only_says_the_book_has_no_answer_is_a_refusal(text: str) -> None:
    assert is_refusal(text)


@pytest.mark.parametrize(
    "text",
    [
        "A node is a process.",
        "I couldn't find that in the book. However, a node is a process [1].",
        "The book does not mention Mars, but it says that a node is a process.",
        "Thank you!",
        "",
    ],
)
def test_a_text_that_claims_something_or_nothing_at_all_is_no_refusal(text: str) -> None:
    assert not is_refusal(text)


def test_a_supported_sentence_without_a_citation_gets_the_passage_that_carries_it() -> None:
    assert checked("Gazebo simulates robots with physics.\n") == [
        CheckedSegment(text="Gazebo simulates robots with physics. [1]\n", supported=True, numbers=(2,), claims=True)
    ]


def test_a_citation_of_the_wrong_passage_is_put_right() -> None:
    (piece,) = checked("Gazebo simulates robots with physics [1].")
    assert (piece.text, piece.numbers) == ("Gazebo simulates robots with physics. [1]", (2,))


def test_an_unsupported_sentence_cites_nothing() -> None:
    assert checked("Gazebo was bought by Unity in 2031 [2].") == [
        CheckedSegment(text="Gazebo was bought by Unity in 2031.", supported=False, numbers=(), claims=True)
    ]


def shown(answer: str) -> str:
    return "".join(piece.text for piece in checked(answer))


def test_citations_are_numbered_in_the_order_of_the_text() -> None:
    text = "It needs a graphics card [2]. Nodes talk over topics [1]. Gazebo simulates robots with physics [2]."
    assert shown(text) == (
        "It needs a graphics card. [1] Nodes talk over topics. [2] Gazebo simulates robots with physics. [1]"
    )


def test_a_sentence_that_the_book_does_not_support_uses_up_no_number() -> None:
    text = "Gazebo was bought by Unity in 2031 [1]. Gazebo simulates robots with physics [2]."
    assert shown(text) == "Gazebo was bought by Unity in 2031. Gazebo simulates robots with physics. [1]"


def test_a_mark_without_a_claim_stays_only_when_a_claim_before_it_cites_the_same_passage() -> None:
    code = '```python\nnode = Node("talker")\n```\n\n'
    assert shown(f"Here is the code: [1]\n\n{code}[1]") == f"Here is the code:\n\n{code}[1]"
    assert shown(f"{code}[2]") == code


def test_the_marks_in_the_cells_of_a_table_are_numbered_too() -> None:
    table = "| Policy | Depth |\n|---|---|\n| reliable | 10 [1] |\n"
    assert shown(f"Gazebo simulates robots with physics [2].\n\n{table}") == (
        f"Gazebo simulates robots with physics. [1]\n\n{table.replace('[1]', '[2]')}"
    )


def test_an_index_in_brackets_is_no_citation_and_keeps_its_number() -> None:
    text = "Gazebo simulates robots with physics [2]. Nodes talk over topics, as in `topics[2]` [1]."
    assert "`topics[2]`" in shown(text)


def test_a_sentence_is_let_through_as_soon_as_the_next_one_begins() -> None:
    gate = SentenceGate(BOOK)
    assert gate.feed("Gazebo simulates robots. [") == []
    assert gate.feed("2] ") == []
    assert [piece.text for piece in gate.feed("It")] == ["Gazebo simulates robots. [1] "]
    assert [piece.text for piece in gate.close()] == ["It"]


def test_code_tables_and_items_come_out_whole() -> None:
    answer = (
        'Do this:\n\n```python\nnode = Node("talker")\n\npub = 1. Then\n```\n\n'
        "- Nodes talk.\n  Over topics.\n  - Deep one\n\n"
        "| Policy | Depth |\n|---|---|\n| reliable | 10 |\nA node computes."
    )
    assert [piece.text for piece in checked(answer, ())] == [
        "Do this:\n\n",
        '```python\nnode = Node("talker")\n\npub = 1. Then\n```\n\n',
        "- Nodes talk.\n  Over topics.\n",
        "  - Deep one\n\n",
        "| Policy | Depth |\n|---|---|\n| reliable | 10 |\n",
        "A node computes.",
    ]


def test_passages_found_on_the_way_count_from_then_on() -> None:
    gate = SentenceGate(BOOK[:1])
    first = gate.feed("Gazebo simulates robots with physics [2]. Then")
    gate.add(BOOK[1:])
    (second,) = gate.feed(" Gazebo simulates robots with physics [2].") + gate.close()
    assert ([piece.supported for piece in first], second.supported, gate.removed) == ([False], True, 1)


def test_grounding_counts_only_what_claims_something() -> None:
    pieces = checked("Sure! Nodes talk to each other over topics. Gazebo was bought by Unity in 2031 [9].")
    grounding = grounding_of(pieces, 1)
    assert grounding.supported == 0.5
    assert grounding.unsupported == ("Gazebo was bought by Unity in 2031.",)
    assert grounding.unsupported_citations == 1
    assert grounding_of([], 0).supported == 1.0


@pytest.mark.parametrize(
    ("answer", "grounded"),
    [
        ("Nodes talk to each other over topics. A node is a process.", True),
        ("Nodes talk to each other over topics. Gazebo was bought by Unity in 2031. It was invented in Zurich.", False),
        ("Nodes do not talk to each other over topics.", False),
        ("I couldn't find that information in the book.", True),
        ("You are welcome!", False),
    ],
)
def test_an_answer_is_grounded_when_it_is_supported_as_a_whole_or_refuses(answer: str, grounded: bool) -> None:
    assert is_grounded(checked(answer), BOOK) == grounded


def test_the_support_of_an_answer_grows_with_its_claims_and_its_overlap() -> None:
    def answer(text: str) -> float:
        return answer_support(checked(text), BOOK)

    copied = answer("Nodes talk to each other over topics.")
    assert copied == pytest.approx(1.0)
    assert answer("Over topics, nodes talk to each other.") < copied
    assert answer("Nodes talk to each other over topics. Gazebo was bought by Unity in 2031.") < copied


def test_a_copy_with_an_unknown_name_or_number_is_never_supported() -> None:
    assert DOUBTFUL < LEAST_SUPPORT
    for sentence in ("The queue of a publisher holds 11 messages by default.", "Create a publisher with `make_node`."):
        assert support(sentence, BOOK) <= DOUBTFUL


def test_overlap_is_the_share_of_4_grams_in_the_passages() -> None:
    assert overlap("A node is a process that sleeps [1].", BOOK) == 0.75
    assert overlap("A node is a process that performs computation.", ()) == 0.0
