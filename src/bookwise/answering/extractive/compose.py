"""Passages and a question → the units of an answer, chosen across passages and put in reading order."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from bookwise.answering.relevance.question_type import QuestionKind, QuestionType
from bookwise.answering.relevance.rank import RankedUnit, UnitContext, rank_answer_units, unit_contexts
from bookwise.domain.answers import Passage
from bookwise.text.sentences import UnitKind

SENTENCES_MAX = 3
RUN_MAX = 12  #: items of one list
CODE_LINES_MAX = 40
RELATIVE_LEAST = 0.6  #: what a further sentence must score, against the best one
BLOCK_LEAST = 0.8  #: the same for a further list, table or code, and where the first one should say it all
SAME = 0.7  #: share of its words from which a unit repeats another one

_SHOWN: tuple[QuestionKind, ...] = ("procedure", "list")  #: questions whose answer is a list or code
_SAYS_IT_ALL: tuple[QuestionKind, ...] = (*_SHOWN, "comparison")
_DANGLING = re.compile(
    r"(?i:^\W*(?:it|its|they|their|he|she|such|however|but|and|so|then|therefore|thus|hence|also|otherwise|instead|here"
    r"|both|another|as a result|after that|(?:for|in|with|because of) this|the (?:former|latter|others?)"
    r"|(?:this|that|these|those)(?! (?:book|chapter|lesson|section|guide|course)\b))\b)"
    r"|^\$\$|^[a-z]+ "
)
_GOES_ON = re.compile(r"^\W*(?:finally|next|then|now|lastly|afterwards|second|third)\b", re.IGNORECASE)
_NO_ANSWER = re.compile(
    r"^(?:note|tip|info|caution|warning|danger|important)\b[^.!?]*$|^!\[[^\]]*\]\([^)]*\)$", re.IGNORECASE
)
_COLON = re.compile(r"(?<!:):[*_]*$")
_WHOLE = re.compile(r"[.!?…][\"'”’)\]*_`]*$")
_BELONGS: dict[QuestionKind, tuple[UnitKind, ...]] = {"procedure": ("code", "item"), "list": ("item",)}
_BLOCKS = ("item", "code", "table")


@dataclass(frozen=True, slots=True)
class SelectedUnit:
    """A unit that stands in the answer."""

    passage: Passage
    place: UnitContext


def compose(question: QuestionType, passages: Sequence[Passage]) -> list[SelectedUnit]:
    """What answers the question: the best sentences, each with the list, code or table that belongs to it."""
    found = rank_answer_units(question, passages)
    chosen = [candidate for candidate in found if _may_lead(question, candidate)] or found[:1]
    picked: dict[tuple[int, int], SelectedUnit] = {}
    for candidate in chosen:
        if picked and not _adds(question, candidate, chosen[0].score, picked.values()):
            continue
        parts = {(p.passage.number, p.place.index): p for p in _with_blocks(question, candidate)}
        if not picked or _is_brief(picked | parts):
            picked |= parts
    order = _order(question, picked.values())
    return sorted(picked.values(), key=lambda part: (order.index(part.passage.number), part.place.index))


def _order(question: QuestionType, picked: Iterable[SelectedUnit]) -> list[int]:
    """The passages as they follow each other: the best first, or what to do before what is said about it."""
    parts = list(picked)
    if question.kind == "procedure":
        parts.sort(key=lambda part: part.place.unit.kind not in _BLOCKS)
    return list(dict.fromkeys(part.passage.number for part in parts))


def _adds(question: QuestionType, candidate: RankedUnit, best: float, picked: Collection[SelectedUnit]) -> bool:
    """Whether a further unit is good enough, and says something new. One list, table or code is enough, unless the
    same passage has more of them."""
    block = candidate.unit.kind in _BLOCKS or _announces(candidate.place)
    blocks = {part.passage.number for part in picked if part.place.unit.kind in _BLOCKS}
    wanted = question.kind in _SHOWN and not blocks
    strict = not wanted and (block or (blocks and question.kind in _SAYS_IT_ALL))
    if candidate.score < (BLOCK_LEAST if strict else RELATIVE_LEAST) * best:
        return False
    if block and blocks and candidate.passage.number not in blocks:
        return False
    return not any(_repeats(candidate.place, part.place) for part in picked)


def _is_brief(picked: dict[tuple[int, int], SelectedUnit]) -> bool:
    """Whether an answer is short enough; a whole list counts as one sentence, code and tables as none."""
    items = {key for key, part in picked.items() if part.place.unit.kind == "item"}
    blocks = sum(part.place.unit.kind in ("code", "table") for part in picked.values())
    sentences = len(picked) - blocks - sum((number, at + 1) in items for number, at in items)
    return sentences <= SENTENCES_MAX and len(items) <= RUN_MAX


def _may_lead(question: QuestionType, candidate: RankedUnit) -> bool:
    """Code and tables answer procedures, lists and comparisons; elsewhere they only stand beside a sentence. What
    announces a list is no answer where no list is wanted, and the title of a note or a picture
    never is."""
    if candidate.unit.kind == "code":
        return question.kind == "procedure" and _is_short(candidate.place)
    if candidate.unit.kind == "table":
        return question.kind in ("list", "comparison", "fact")
    if _announces(candidate.place) and question.kind not in _SHOWN:
        return False
    return bool(candidate.place.own) and not _NO_ANSWER.match(candidate.unit.text)


def _repeats(one: UnitContext, other: UnitContext) -> bool:
    shared = len(one.own & other.own)
    return shared > 0 and shared >= SAME * min(len(one.own), len(other.own)) and one.unit.kind == other.unit.kind


def _with_blocks(question: QuestionType, choice: RankedUnit) -> Iterator[SelectedUnit]:
    """The unit with what belongs to it: its list, the code it announces, the sentences it refers back to."""
    places = unit_contexts(choice.passage)
    first = last = places.index(choice.place)
    whole = choice.unit.kind == "item" and question.kind in _SHOWN
    if whole:
        first, last = _run(places, first)
    if first and choice.unit.kind in _BLOCKS and _introduces(places[first - 1], places[first], whole=whole):
        first -= 1
    first = _understood_from(places, first)
    last = _announced(question, places, last)
    steps = _earlier_steps(places, first) if question.kind == "procedure" else []
    for place in (*steps, *places[first : last + 1]):
        yield SelectedUnit(choice.passage, place)


def _run(places: Sequence[UnitContext], at: int) -> tuple[int, int]:
    """The list around an item, as far as it may be long."""
    first = last = at
    while first and places[first - 1].unit.kind == "item" and at - first < RUN_MAX - 1:
        first -= 1
    while last + 1 < len(places) and places[last + 1].unit.kind == "item" and last - first + 1 < RUN_MAX:
        last += 1
    return first, last


def _introduces(before: UnitContext, block: UnitContext, *, whole: bool) -> bool:
    """Whether a sentence leads to the block below it: to code and whole lists always, to a table with a colon, and
    to a single item where that is no sentence itself."""
    if before.unit.kind != "sentence" or before.index + 1 != block.index:
        return False
    if block.unit.kind == "item" and not whole:
        return _announces(before) and not _WHOLE.search(block.unit.text)
    return block.unit.kind != "table" or _announces(before)


def _understood_from(places: Sequence[UnitContext], at: int) -> int:
    """Where to begin so that a sentence does not lean on what the reader has not seen."""
    if not at or not needs_context(places[at]):
        return at
    before = places[at - 1]
    if before.unit.kind != "sentence" or before.index + 1 != places[at].index:
        return at
    return _understood_from(places, at - 1) if before.unit.text.startswith("$$") else at - 1


def needs_context(place: UnitContext) -> bool:
    """Whether a sentence can only be understood after another one."""
    return place.unit.kind == "sentence" and bool(_DANGLING.match(place.unit.text))


def _earlier_steps(places: Sequence[UnitContext], at: int) -> list[UnitContext]:
    """The commands before a step that only goes on, each with the sentence that announces it."""
    steps: list[UnitContext] = []
    if not _GOES_ON.match(places[at].unit.text):
        return steps
    for index in range(at - 1, 0, -1):
        lead, code = places[index - 1], places[index]
        if code.unit.kind == "code" and _announces(lead) and _is_short(code) and len(steps) < 2 * (SENTENCES_MAX - 1):
            steps[:0] = [lead, code]
    return steps


def _announces(place: UnitContext) -> bool:
    return place.unit.kind == "sentence" and bool(_COLON.search(place.unit.text))


def _is_short(place: UnitContext) -> bool:
    return place.unit.text.count("\n") <= CODE_LINES_MAX


def _announced(question: QuestionType, places: Sequence[UnitContext], at: int) -> int:
    """Where the answer ends that begins here: a colon brings what follows it, a list or procedure its items, a
    procedure its code, and a sentence that does not end its formula."""
    following = at + 1
    if following >= len(places) or places[at].index + 1 != places[following].index:
        return at
    text, unit = places[at].unit.text, places[following].unit
    if unit.text.startswith("$$") and not _WHOLE.search(text):
        return following
    if not (_announces(places[at]) or unit.kind in _BELONGS.get(question.kind, ())):
        return at
    if unit.kind == "item":
        return _run(places, following)[1]
    return following if unit.kind == "table" or (unit.kind == "code" and _is_short(places[following])) else at
