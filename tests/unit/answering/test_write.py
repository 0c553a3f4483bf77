"""The draft of an answer: its text, its highlights and its citations agree."""

from bookwise.answering.grounding.citation_numbers import in_order
from bookwise.answering.grounding.sentence_gate import SentenceGate
from bookwise.answering.write import AnswerDraft
from bookwise.domain.answers import Highlight, TextDelta
from tests.support.answers import passage

PASSAGES = {
    4: passage(4, text="Salt slows the yeast down."),
    7: passage(7, text="Run it:\n\n```bash\nknead --minutes 10\n```"),
    9: passage(9, text="Steam makes the crust crisp."),
}


def draft_of(text: str) -> AnswerDraft:
    draft = AnswerDraft(engine="direct")
    gate = SentenceGate(tuple(PASSAGES.values()), draft.numbers)
    draft.segments = [*gate.feed(text), *gate.close()]
    draft.deltas = [TextDelta(text=segment.text) for segment in draft.segments]
    return draft


def test_citations_have_the_numbers_of_the_text() -> None:
    draft = draft_of("Steam makes the crust crisp [9]. Salt slows the yeast down [4].")
    assert draft.text == "Steam makes the crust crisp. [1] Salt slows the yeast down. [2]"
    citations = draft.citations(PASSAGES)
    assert [(c.number, c.passage.number, c.passage.chunk.id) for c in citations] == [
        (1, 1, "chunk-9"),
        (2, 2, "chunk-4"),
    ]


def test_code_has_no_mark_so_its_passage_comes_after_those_with_one() -> None:
    draft = draft_of("```bash\nknead --minutes 10\n```\n\nSalt slows the yeast down [4].")
    assert draft.text.endswith("Salt slows the yeast down. [1]")
    assert [(c.number, c.passage.chunk.id) for c in draft.citations(PASSAGES)] == [(1, "chunk-4"), (2, "chunk-7")]


def test_highlights_are_positions_in_the_whole_text() -> None:
    deltas = [
        TextDelta(text="\n Salt is white. Salt is old.", highlights=(Highlight(17, 29),)),
        TextDelta(text="\n\nIt is mined.", highlights=(Highlight(2, 14),)),
    ]
    draft = AnswerDraft(engine="extractive", deltas=deltas)
    assert [draft.text[h.start : h.end] for h in draft.highlights] == ["Salt is old.", "It is mined."]


def test_passages_in_order_are_numbered_from_one() -> None:
    assert [(p.number, p.chunk.id) for p in in_order([PASSAGES[7], PASSAGES[4]])] == [(1, "chunk-7"), (2, "chunk-4")]
