"""Laws of highlights: any text of a book, any question."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from bookwise.answering.extractive.highlight import find_highlights
from bookwise.answering.relevance.question_type import classify_question
from bookwise.answering.relevance.sections import question_weights
from tests.support.answers import passage

SCRAPS = [
    *("Salt slows yeast.", "**Salt**", "**Salt slows. Yeast", "grows.**", "`salt.yeast()`", "Do this:", "…", "x[1]"),
    *("\n", "\n\n", " ", " [1]\n\n", "[2]", "\n- salt", "\n  1. yeast ", "\n    ```\n", "\n```sh\n", "\n~~~\n", "```"),
    *("| salt | yeast |\n", "|---|---|\n", "|", "> ", "# Salt\n", "🧂 salt", "\u2028", "\t"),
]
TEXTS = st.lists(st.sampled_from(SCRAPS), max_size=24).map("".join)


@settings(max_examples=150)
@given(TEXTS)
def test_highlights_are_in_order_and_hold_neither_fences_nor_the_citation(text: str) -> None:
    shown = f"{text} [1]"
    question = classify_question("How does salt slow yeast?")
    weights = question_weights(question, [passage(1, text="Salt slows yeast. Bread needs time.")])
    fences = list(re.finditer(r"^[ \t]*(?:```|~~~)", shown, re.MULTILINE))
    end = 0
    for highlight in find_highlights(shown, question, weights):
        assert end <= highlight.start < highlight.end <= len(text)
        end = highlight.end
        part = shown[highlight.start : highlight.end]
        assert part == part.strip()
        assert not any(highlight.start < fence.end() and fence.start() < highlight.end for fence in fences)
