"""Question + passages → the units of a quoted answer, selected across passages and put in reading order."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from bookwise.answering.relevance.question_type import QuestionKind, QuestionType
from bookwise.answering.relevance.rank import RankedUnit, UnitContext, rank_answer_units, unit_contexts
from bookwise.domain.answers import Passage
from bookwise.text.sentences import UnitKind

# Sizes were chosen so that an answer fits a screen, shares on the questions of the sample book (docs/benchmarks.md,
# Answers).
SENTENCES_MAX = 3
RUN_MAX = 12  #: items of one list
CODE_LINES_MAX = 40
RELATIVE_LEAST = 0.6  #: least score of a further sentence, as a share of the best score
BLOCK_LEAST = 0.8  #: the same for a further list, table or code block, and when the first block already answers
REPEATED_SHARE = 0.7  #: share of common terms from which a unit repeats another one

_BLOCK_ANSWERS: tuple[QuestionKind, ...] = ("procedure", "list")  #: answered by a list or code
_SINGLE_ANSWERS: tuple[QuestionKind, ...] = (*_BLOCK_ANSWERS, "comparison")  #: the best block is usually complete
_FOLLOWING_KINDS: dict[QuestionKind, tuple[UnitKind, ...]] = {"procedure": ("code", "item"), "list": ("item",)}
_BLOCKS = ("item", "code", "table")
_REFERS_BACK = re.compile(
    r"(?i:^\W*(?:it|its|they|their|he|she|such|however|but|and|so|then|therefore|thus|hence|also|otherwise|instead|here"
    r"|both|another|as a result|after that|(?:for|in|with|because of) this|the (?:former|latter|others?)"
    r"|(?:this|that|these|those)(?! (?:book|chapter|lesson|section|guide|course)\b))\b)"
    r"|^\$\$|^[a-z]+ "
)
_LATER_STEP = re.compile(r"^\W*(?:finally|next|then|now|lastly|afterwards|second|third)\b", re.IGNORECASE)
_CAPTION = re.compile(
    r"^(?:note|tip|info|caution|warning|danger|important)\b[^.!?]*$|^!\[[^\]]*\]\([^)]*\)$", re.IGNORECASE
)
_FINAL_COLON = re.compile(r"(?<!:):[*_]*$")
_FULL_STOP = re.compile(r"[.!?…][\"'”’)\]*_`]*$")
_FORMULA = "$$"

_Position = tuple[int, int]  #: of a unit: number of its passage, index in it


@dataclass(frozen=True, slots=True)
class SelectedUnit:
    """A unit of the answer."""

    passage: Passage
    context: UnitContext


def compose(question: QuestionType, passages: Sequence[Passage]) -> list[SelectedUnit]:
    """Returns the best units, each with the list, code or table that belongs to it; empty without passages."""
    ranking = rank_answer_units(question, passages)
    candidates = [ranked for ranked in ranking if _can_start(question, ranked)] or ranking[:1]
    selection: dict[_Position, SelectedUnit] = {}
    for candidate in candidates:
        if selection and not _is_addition(question, candidate, candidates[0].score, selection.values()):
            continue
        group = {(unit.passage.number, unit.context.index): unit for unit in _with_blocks(question, candidate)}
        if not selection or _is_short_answer(selection | group):
            selection |= group
    order = _passage_order(question, selection.values())
    return sorted(selection.values(), key=lambda unit: (order.index(unit.passage.number), unit.context.index))


def needs_context(context: UnitContext) -> bool:
    """Returns whether a sentence refers back to the one before it."""
    return context.unit.kind == "sentence" and bool(_REFERS_BACK.match(context.unit.text))


def _passage_order(question: QuestionType, selection: Iterable[SelectedUnit]) -> list[int]:
    """Returns the numbers of the passages: the best first; for a procedure, those with steps or code first."""
    units = list(selection)
    if question.kind == "procedure":
        units.sort(key=lambda unit: unit.context.unit.kind not in _BLOCKS)
    return list(dict.fromkeys(unit.passage.number for unit in units))


def _is_addition(
    question: QuestionType, candidate: RankedUnit, best: float, selection: Collection[SelectedUnit]
) -> bool:
    """Returns whether a further unit scores high enough and adds something new. Further lists, tables or code blocks
    are only taken from the passage of the first one."""
    is_block = candidate.unit.kind in _BLOCKS or _is_lead_in(candidate.context)
    block_passages = {unit.passage.number for unit in selection if unit.context.unit.kind in _BLOCKS}
    lacks_block = question.kind in _BLOCK_ANSWERS and not block_passages
    strict = not lacks_block and (is_block or (block_passages and question.kind in _SINGLE_ANSWERS))
    if candidate.score < (BLOCK_LEAST if strict else RELATIVE_LEAST) * best:
        return False
    if is_block and block_passages and candidate.passage.number not in block_passages:
        return False
    return not any(_repeats(candidate.context, unit.context) for unit in selection)


def _is_short_answer(selection: dict[_Position, SelectedUnit]) -> bool:
    """Returns whether a selection is within the limits; a list counts as one sentence, code and tables as none."""
    items = {position for position, unit in selection.items() if unit.context.unit.kind == "item"}
    blocks = sum(unit.context.unit.kind in ("code", "table") for unit in selection.values())
    sentences = len(selection) - blocks - sum((number, index + 1) in items for number, index in items)
    return sentences <= SENTENCES_MAX and len(items) <= RUN_MAX


def _can_start(question: QuestionType, candidate: RankedUnit) -> bool:
    """Returns whether a unit can be an answer on its own.

    Code answers procedures, a table lists, comparisons and facts. A lead-in answers only a question for its list, and
    the caption of a note or picture answers nothing.
    """
    if candidate.unit.kind == "code":
        return question.kind == "procedure" and _is_short_code(candidate.context)
    if candidate.unit.kind == "table":
        return question.kind in ("list", "comparison", "fact")
    if _is_lead_in(candidate.context) and question.kind not in _BLOCK_ANSWERS:
        return False
    return bool(candidate.context.terms) and not _CAPTION.match(candidate.unit.text)


def _repeats(one: UnitContext, other: UnitContext) -> bool:
    common = len(one.terms & other.terms)
    share = REPEATED_SHARE * min(len(one.terms), len(other.terms))
    return common > 0 and common >= share and one.unit.kind == other.unit.kind


def _with_blocks(question: QuestionType, choice: RankedUnit) -> Iterator[SelectedUnit]:
    """Yields the unit with what belongs to it: its list, the code after it, the sentences it refers back to."""
    contexts = unit_contexts(choice.passage)
    first = last = contexts.index(choice.context)
    whole_list = choice.unit.kind == "item" and question.kind in _BLOCK_ANSWERS
    if whole_list:
        first, last = _list_around(contexts, first)
    if first and choice.unit.kind in _BLOCKS and _introduces(contexts[first - 1], contexts[first], whole=whole_list):
        first -= 1
    first = _context_start(contexts, first)
    last = _block_end(question, contexts, last)
    steps = _earlier_steps(contexts, first) if question.kind == "procedure" else []
    for context in (*steps, *contexts[first : last + 1]):
        yield SelectedUnit(choice.passage, context)


def _list_around(contexts: Sequence[UnitContext], index: int) -> tuple[int, int]:
    """Returns the first and last index of the list around an item, at most `RUN_MAX` items."""
    first = last = index
    while first and contexts[first - 1].unit.kind == "item" and index - first < RUN_MAX - 1:
        first -= 1
    while last + 1 < len(contexts) and contexts[last + 1].unit.kind == "item" and last - first + 1 < RUN_MAX:
        last += 1
    return first, last


def _introduces(before: UnitContext, block: UnitContext, *, whole: bool) -> bool:
    """Returns whether a sentence introduces the block after it: code and whole lists always, a table after a colon, a
    single item after a colon if the item is no sentence itself."""
    if before.unit.kind != "sentence" or before.index + 1 != block.index:
        return False
    if block.unit.kind == "item" and not whole:
        return _is_lead_in(before) and not _FULL_STOP.search(block.unit.text)
    return block.unit.kind != "table" or _is_lead_in(before)


def _context_start(contexts: Sequence[UnitContext], index: int) -> int:
    """Returns the index to start from, so that the unit does not refer to a sentence that readers do not see."""
    if not index or not needs_context(contexts[index]):
        return index
    before = contexts[index - 1]
    if before.unit.kind != "sentence" or before.index + 1 != contexts[index].index:
        return index
    return _context_start(contexts, index - 1) if before.unit.text.startswith(_FORMULA) else index - 1


def _earlier_steps(contexts: Sequence[UnitContext], index: int) -> list[UnitContext]:
    """Returns the commands before a step that starts with "Then" or "Finally", each with its lead-in."""
    steps: list[UnitContext] = []
    if not _LATER_STEP.match(contexts[index].unit.text):
        return steps
    for at in range(index - 1, 0, -1):
        lead_in, code = contexts[at - 1], contexts[at]
        is_step = code.unit.kind == "code" and _is_lead_in(lead_in) and _is_short_code(code)
        if is_step and len(steps) < 2 * (SENTENCES_MAX - 1):
            steps[:0] = [lead_in, code]
    return steps


def _is_lead_in(context: UnitContext) -> bool:
    return context.unit.kind == "sentence" and bool(_FINAL_COLON.search(context.unit.text))


def _is_short_code(context: UnitContext) -> bool:
    return context.unit.text.count("\n") <= CODE_LINES_MAX


def _block_end(question: QuestionType, contexts: Sequence[UnitContext], index: int) -> int:
    """Returns the index of the last unit that belongs to this one: what follows a colon, the items of a list or
    procedure, the code of a procedure, the formula of a sentence without a full stop."""
    following = index + 1
    if following >= len(contexts) or contexts[index].index + 1 != contexts[following].index:
        return index
    text, unit = contexts[index].unit.text, contexts[following].unit
    if unit.text.startswith(_FORMULA) and not _FULL_STOP.search(text):
        return following
    if not (_is_lead_in(contexts[index]) or unit.kind in _FOLLOWING_KINDS.get(question.kind, ())):
        return index
    if unit.kind == "item":
        return _list_around(contexts, following)[1]
    return following if unit.kind == "table" or (unit.kind == "code" and _is_short_code(contexts[following])) else index
