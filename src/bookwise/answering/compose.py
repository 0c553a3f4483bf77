"""Passages and a question → the units of an answer, chosen across passages and put in reading order."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bookwise.answering.asked import Asked
from bookwise.answering.select import Found, Place, found_units, places_of
from bookwise.domain.answers import Passage

SENTENCES_MAX = 3
RUN_MAX = 12  #: items of one list
CODE_LINES_MAX = 40
RELATIVE_LEAST = 0.6  #: what a further sentence must score, against the best one
SAME = 0.7  #: share of its words from which a unit repeats another one

_DANGLING = re.compile(
    r"^\W*(?:it|its|this|that|these|those|they|their|he|she|such|however|but|and|so|then|therefore|thus|hence|also"
    r"|otherwise|instead|here|both)\b",
    re.IGNORECASE,
)
_BLOCKS = ("item", "code", "table")


@dataclass(frozen=True, slots=True)
class Picked:
    """A unit that stands in the answer."""

    passage: Passage
    place: Place


def composed(question: Asked, passages: Sequence[Passage]) -> list[Picked]:
    """What answers the question: the best sentences, each with the list, code or table that belongs to it."""
    found = found_units(question, passages)
    if not found:
        return []
    picked: dict[tuple[int, int], Picked] = {}
    for candidate in found:
        if candidate.score < RELATIVE_LEAST * found[0].score:
            break
        if not _may_lead(question, candidate) or any(_repeats(candidate.place, p.place) for p in picked.values()):
            continue
        parts = {(p.passage.number, p.place.index): p for p in _with_blocks(question, candidate)}
        if not picked or _sentence_count(picked | parts) <= SENTENCES_MAX:
            picked |= parts
    order = list(dict.fromkeys(number for number, _ in picked))
    return sorted(picked.values(), key=lambda part: (order.index(part.passage.number), part.place.index))


def _sentence_count(picked: dict[tuple[int, int], Picked]) -> int:
    """How long the answer is; a whole list counts as one sentence."""
    items = {key for key, part in picked.items() if part.place.unit.kind == "item"}
    return len(picked) - sum((number, at + 1) in items for number, at in items)


def _may_lead(question: Asked, candidate: Found) -> bool:
    """Code and tables answer procedures, lists and comparisons; elsewhere they only stand beside a sentence. What
    announces a list is no answer where no list is wanted."""
    if candidate.unit.kind == "code":
        return question.kind == "procedure"
    if candidate.unit.kind == "table":
        return question.kind in ("procedure", "list", "comparison", "fact")
    if _announces(candidate.place) and question.kind not in ("procedure", "list"):
        return False
    return bool(candidate.place.own)


def _repeats(one: Place, other: Place) -> bool:
    shared = len(one.own & other.own)
    return shared > 0 and shared >= SAME * min(len(one.own), len(other.own)) and one.unit.kind == other.unit.kind


def _with_blocks(question: Asked, choice: Found) -> Iterator[Picked]:
    """The unit with what belongs to it: its list, the code it announces, the sentence it refers back to."""
    places = places_of(choice.passage)
    at = places.index(choice.place)
    first, last = at, at
    if choice.unit.kind == "item" and question.kind in ("list", "procedure"):
        first, last = _run(places, at)
    if choice.unit.kind in _BLOCKS and first and _introduces(choice, places[first - 1]):
        first -= 1
    elif choice.unit.kind == "sentence" and first and _DANGLING.match(choice.unit.text):
        first -= places[first - 1].unit.kind == "sentence"
    last = _announced(question, places, last)
    for place in places[first : last + 1]:
        yield Picked(choice.passage, place)


def _run(places: Sequence[Place], at: int) -> tuple[int, int]:
    """The list around an item, as far as it may be long."""
    first = last = at
    while first and places[first - 1].unit.kind == "item" and at - first < RUN_MAX:
        first -= 1
    while last + 1 < len(places) and places[last + 1].unit.kind == "item" and last - first + 1 < RUN_MAX:
        last += 1
    return first, last


def _introduces(choice: Found, before: Place) -> bool:
    return before.unit.kind == "sentence" and (choice.unit.kind == "code" or _announces(before))


def _announces(place: Place) -> bool:
    return place.unit.kind == "sentence" and place.unit.text.rstrip("*_").endswith(":")


def _announced(question: Asked, places: Sequence[Place], at: int) -> int:
    """Where the answer ends that begins here: a colon brings what follows it, a procedure its next code."""
    following = at + 1
    if following >= len(places):
        return at
    kind = places[following].unit.kind
    if not (_announces(places[at]) or (question.kind == "procedure" and kind == "code")):
        return at
    if kind == "item":
        return _run(places, following)[1]
    if kind == "table" or (kind == "code" and places[following].unit.text.count("\n") <= CODE_LINES_MAX):
        return following
    return at
