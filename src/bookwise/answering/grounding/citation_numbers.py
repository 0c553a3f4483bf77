"""Passages → the numbers by which an answer cites them: 1, 2, 3 … in the order of the answer, without gaps."""

from collections.abc import Iterable
from dataclasses import replace

from bookwise.domain.answers import Passage


class CitationNumbers:
    """The numbers of one answer while it is written.

    The search numbers passages in its own order, and a model cites by that number. A reader sees the first passage that
    is cited as [1], the second as [2].
    """

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}

    def cite(self, passage_number: int) -> int:
        """Returns the number of the passage in the answer; a passage that is new to the answer gets the next one."""
        return self._numbers.setdefault(passage_number, len(self._numbers) + 1)


def in_order(passages: Iterable[Passage]) -> tuple[Passage, ...]:
    """Returns the passages numbered from 1 in this order."""
    return tuple(replace(passage, number=number) for number, passage in enumerate(passages, 1))
