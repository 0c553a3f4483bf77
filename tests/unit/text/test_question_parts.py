"""A reader's message has parts: prose, code, and the sentences that ask."""

import pytest

from bookwise.text.question_parts import asking_sentences, focus, split_code

STORY = (
    "Hi, I started to bake two weeks ago after my neighbour gave me her old oven, and since then I have tried every "
    "recipe of the book on Sunday mornings while the children sleep, mostly with good results but not always."
)


@pytest.mark.parametrize(
    ("text", "prose", "code"),
    [
        ("Why does it fail?\n```rust\nlet x = 5;\n```", "Why does it fail?", "let x = 5;"),
        ("What does `colcon build` do?", "What does `colcon build` do?", ""),
        ("Why is `let a = b + c` wrong here?", "Why is \n wrong here?", "let a = b + c"),
        ("Why does this loop?\nwhile True:\nx = 1\nprint(x)\n", "Why does this loop?\nwhile True:", "x = 1\nprint(x)"),
        ("How do I set\nx = 1 in a launch file?", "How do I set\nx = 1 in a launch file?", ""),
        ("Why does it fail?\n~~~rust\nlet x = 5;\n~~~", "Why does it fail?", "let x = 5;"),
        ("Why does it fail?\n```\nlet x = 5;", "Why does it fail?", "let x = 5;"),
        ("```\nlet x = 5;\n```", "```\nlet x = 5;\n```", ""),
    ],
)
def test_code_is_separated_from_the_prose_around_it(text: str, prose: str, code: str) -> None:
    parts = split_code(text)
    assert (parts.prose, parts.code) == (prose, code)


@pytest.mark.parametrize(
    ("prose", "asking"),
    [
        ("The dough is wet. Why does it stick? I use rye.", "Why does it stick?"),
        ("the dough is wet. will it still rise?", "will it still rise?"),
        ("How do I knead it? How long does it rest?", "How do I knead it? How long does it rest?"),
        ("I have rye flour. Tell me how long it rests.", "Tell me how long it rests."),
        ("I have rye flour. Bake a loaf with it", "Bake a loaf with it"),
        ("sourdough", "sourdough"),
        ("", ""),
    ],
)
def test_the_sentences_that_ask(prose: str, asking: str) -> None:
    assert asking_sentences(prose) == asking


def test_the_focus_of_a_long_question_is_what_it_asks() -> None:
    assert focus(f"{STORY} How do I keep a crust crisp?") == "How do I keep a crust crisp?"


@pytest.mark.parametrize(
    "question", ["The dough is wet. Why?", f"{STORY} Why does this fail?\n```\nbake(loaf)\n```", "loop label", ""]
)
def test_a_short_question_and_one_with_code_stay_whole(question: str) -> None:
    assert focus(question) == question
