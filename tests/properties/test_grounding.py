"""Laws of citing and checking: any text, cut anywhere."""

from hypothesis import given, settings
from hypothesis import strategies as st

from bookwise.answering.grounding.citations import quote_for, resolve_citations
from bookwise.answering.grounding.sentence_gate import SentenceGate
from bookwise.answering.grounding.support import CheckedSegment, grounding_of, support
from bookwise.domain.answers import Passage
from tests.support.builders import chunks

PASSAGES = tuple(
    Passage(number=number, chunk=chunk, score=1.0)
    for number, chunk in enumerate(
        chunks("loops", "r1", "A loop repeats. It ends with `break`.", "Use x[1] for the second. 10 are kept."), 1
    )
)
SCRAPS = [
    *(
        "A loop repeats",
        "it ends",
        "Use x[1]",
        " ",
        "\n",
        "\n\n",
        ". ",
        ".",
        "? ",
        ": ",
        "- ",
        "  - ",
        "1. ",
        "## ",
        "e.g. ",
    ),
    *(
        "[1]",
        " [2]",
        "[9]",
        "[1-2]",
        "【1】",
        "[Source: Loops]",
        "(from Chapter 1: Loops)",
        "[text](url)",
        "[^1]",
        "[",
        "]",
        "(",
    ),
    *(
        "`",
        "`x[1]`",
        "```",
        "```\n",
        "```python\n",
        "~~~\n",
        "| a |",
        "| b. C |\n",
        "|",
        "|---|\n",
        "**",
        "\r\n",
        "é",
        "…",
    ),
]
TEXT = st.lists(st.sampled_from(SCRAPS), max_size=25).map("".join) | st.text(max_size=60)


def through(pieces: list[str]) -> tuple[list[CheckedSegment], int]:
    gate = SentenceGate(PASSAGES)
    checked = [found for piece in pieces for found in gate.feed(piece)]
    return checked + gate.close(), gate.removed


@given(text=TEXT, cuts=st.lists(st.integers(0, 200), max_size=6))
@settings(max_examples=150, deadline=None)
def test_any_cut_of_the_same_text_gives_the_same_checked_pieces(text: str, cuts: list[int]) -> None:
    ends = sorted({min(cut, len(text)) for cut in cuts} | {len(text)})
    cut = [text[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]
    whole = through([text])
    assert through(cut) == whole
    assert through(list(text)) == whole


@given(text=TEXT)
@settings(max_examples=150, deadline=None)
def test_a_text_resolved_at_once_and_a_streamed_one_cite_alike(text: str) -> None:
    cited = resolve_citations(text, PASSAGES)
    checked, removed = through([text])
    assert set(cited.numbers) <= {1, 2}
    assert cited.removed == removed
    assert "".join(piece.text for piece in checked).replace("[1]", "").replace("[2]", "").split() == (
        cited.text.replace("[1]", "").replace("[2]", "").split()
    )


@given(sentence=TEXT, text=TEXT.filter(str.strip))
@settings(max_examples=100, deadline=None)
def test_a_quote_is_found_in_its_passage_letter_for_letter(sentence: str, text: str) -> None:
    (chunk, *_) = chunks("any", "r1", f"Begin. {text}")
    quote = quote_for(sentence, Passage(number=1, chunk=chunk, score=1.0))
    assert quote
    assert quote in chunk.text


@given(text=TEXT)
@settings(max_examples=100, deadline=None)
def test_support_and_grounding_are_shares(text: str) -> None:
    assert 0.0 <= support(text, PASSAGES) <= 1.0
    assert 0.0 <= grounding_of(*through([text])).supported <= 1.0
