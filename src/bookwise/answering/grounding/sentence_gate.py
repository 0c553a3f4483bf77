"""Pieces of a streamed answer → checked sentences, each as soon as it is whole."""

import re
from collections.abc import Sequence

from bookwise.answering.grounding.citations import cite_segment, with_numbers
from bookwise.answering.grounding.claims import claims_something
from bookwise.answering.grounding.segments import Segment, first_segment, last_segment
from bookwise.answering.grounding.support import CheckedSegment, best_passage, supported
from bookwise.domain.answers import Passage

LONGEST = 4_000  #: characters after which text without an end is released as it is
_ENDS = re.compile(r"[.!?…:\n|`]")
_LATE = 8  #: that a sentence has ended shows when the next one has begun


class SentenceGate:
    """Holds streamed text back until a sentence, list item, code block or table is whole, then checks it.

    The same text gives the same pieces, however it was cut on its way here.
    """

    def __init__(self, passages: Sequence[Passage] = ()) -> None:
        self._passages = {passage.number: passage for passage in passages}
        self._waiting = ""
        self.removed = 0  #: citations so far of passages that were not retrieved

    def add(self, passages: Sequence[Passage]) -> None:
        """Passages found while the answer was being written; what comes from now on may rest on them."""
        self._passages.update((passage.number, passage) for passage in passages)

    def feed(self, piece: str) -> list[CheckedSegment]:
        """What has become whole with this piece of text."""
        self._waiting += piece
        fresh = max(len(self._waiting) - len(piece) - _LATE, 0)
        if len(self._waiting) <= LONGEST and not _ENDS.search(self._waiting, fresh):
            return []
        released, known = [], tuple(self._passages.values())
        while whole := self._whole(known):
            released.append(self._release(whole, known))
        return released

    def close(self) -> list[CheckedSegment]:
        """What was still waiting; the answer has ended."""
        released, known = [], tuple(self._passages.values())
        while self._waiting:
            released.append(self._release(self._whole(known) or last_segment(self._waiting, known), known))
        return released

    def _whole(self, known: Sequence[Passage]) -> Segment | None:
        """The first piece that has an end, or that is so long that nobody waits for one."""
        seen = self._waiting[:LONGEST]
        too_long = Segment("sentence", seen) if len(self._waiting) > LONGEST else None
        return first_segment(seen, known) or too_long

    def _release(self, piece: Segment, known: Sequence[Passage]) -> CheckedSegment:
        self._waiting = self._waiting[len(piece.text) :]
        return self._checked(piece, known)

    def _checked(self, piece: Segment, known: Sequence[Passage]) -> CheckedSegment:
        cited = cite_segment(piece, known)
        self.removed += cited.removed
        if not claims_something(cited.text):
            return CheckedSegment(text=cited.text, supported=True, numbers=cited.numbers, claims=False)
        numbers = self._carrying(cited.text, cited.numbers, known)
        text = cited.text
        if numbers and numbers != cited.numbers and piece.kind not in ("code", "table"):
            text = with_numbers(_bare(cited.text, cited.numbers), numbers)
        return CheckedSegment(text=text, supported=bool(numbers), numbers=numbers or cited.numbers, claims=True)

    def _carrying(self, text: str, cited: Sequence[int], known: Sequence[Passage]) -> tuple[int, ...]:
        """The passages to cite: those the model named when they carry it, else the best one when all together do."""
        named = [self._passages[number] for number in cited]
        if named and supported(text, named):
            return tuple(cited)
        best = best_passage(text, known) if supported(text, known) else None
        return (best.number,) if best else ()


def _bare(text: str, numbers: Sequence[int]) -> str:
    """The text as it was before its numbers were put after it."""
    body = text.rstrip()
    return body.removesuffix(with_numbers("", numbers)).rstrip() + text[len(body) :]
