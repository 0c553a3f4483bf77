"""Deltas of a streamed answer → checked sentences, each as soon as it is complete."""

import re
from collections.abc import Sequence

from bookwise.answering.grounding.citation_numbers import CitationNumbers
from bookwise.answering.grounding.citations import cite_segment, renumbered
from bookwise.answering.grounding.claims import claims_something
from bookwise.answering.grounding.segments import Segment, first_segment, last_segment
from bookwise.answering.grounding.support import CheckedSegment, best_passage, supported
from bookwise.domain.answers import Passage

LONGEST = 4_000  #: characters after which a sentence is released although it has no end
_ENDS = re.compile(r"[.!?…:\n|`]")
_LOOKBACK = 8  #: characters read again: the end of a sentence is certain only when the next one has begun


class SentenceGate:
    """Holds streamed text back until a sentence, list item, code block or table is complete, then checks it.

    The same text gives the same segments, however it is split into deltas. Every [n] in them is a citation that
    supports a claim, numbered in the order of the text.
    """

    def __init__(self, passages: Sequence[Passage] = (), numbers: CitationNumbers | None = None) -> None:
        self._passages = {passage.number: passage for passage in passages}
        self._numbers = numbers or CitationNumbers()
        self._cited: set[int] = set()  #: the passages that support a claim so far
        self._buffer = ""
        self.removed = 0  #: number of citations of passages that were not retrieved

    def add(self, passages: Sequence[Passage]) -> None:
        """Adds passages found while the answer is written; later sentences may cite them."""
        self._passages.update((passage.number, passage) for passage in passages)

    def feed(self, delta: str) -> list[CheckedSegment]:
        """Returns the segments that this delta completes, checked."""
        self._buffer += delta
        start = max(len(self._buffer) - len(delta) - _LOOKBACK, 0)
        if len(self._buffer) <= LONGEST and not _ENDS.search(self._buffer, start):
            return []
        released, passages = [], tuple(self._passages.values())
        while segment := self._complete_segment(passages):
            released.append(self._release(segment, passages))
        return released

    def close(self) -> list[CheckedSegment]:
        """Returns the remaining segments at the end of the answer."""
        released, passages = [], tuple(self._passages.values())
        while self._buffer:
            segment = self._complete_segment(passages) or last_segment(self._buffer, passages)
            released.append(self._release(segment, passages))
        return released

    def _complete_segment(self, passages: Sequence[Passage]) -> Segment | None:
        """Returns the first segment that has an end, or is too long to wait for one."""
        text = self._buffer[:LONGEST]
        too_long = Segment("sentence", text) if len(self._buffer) > LONGEST else None
        return first_segment(text, passages) or too_long

    def _release(self, segment: Segment, passages: Sequence[Passage]) -> CheckedSegment:
        self._buffer = self._buffer[len(segment.text) :]
        return self._checked(segment, passages)

    def _checked(self, segment: Segment, passages: Sequence[Passage]) -> CheckedSegment:
        cited = cite_segment(segment, passages)
        self.removed += cited.removed
        claims = claims_something(cited.text)
        supporting = self._supporting(cited.text, cited.numbers, passages) if claims else ()
        self._cited.update(supporting)
        shown = supporting if claims else tuple(number for number in cited.numbers if number in self._cited)
        return CheckedSegment(
            text=renumbered(segment, passages, shown, self._numbers),
            supported=bool(supporting) or not claims,
            numbers=supporting,
            claims=claims,
        )

    def _supporting(self, text: str, numbers: Sequence[int], passages: Sequence[Passage]) -> tuple[int, ...]:
        """Returns the passages to cite: those the model named if they support the text; otherwise the best one if all
        passages together do."""
        named = [self._passages[number] for number in numbers]
        if named and supported(text, named):
            return tuple(numbers)
        best = best_passage(text, passages) if supported(text, passages) else None
        return (best.number,) if best else ()
