"""The text of a section and a question → the part of it that answers: whole blocks, in the book's order."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from bookwise.answering.relevance.question_type import QuestionType
from bookwise.answering.relevance.rank import TermWeights
from bookwise.answering.relevance.sections import coverage
from bookwise.text.blocks import MarkdownBlock, markdown_blocks
from bookwise.text.sentences import units
from bookwise.text.words import content_words

# Chosen with `benchmarks.readers` on six books together (docs/benchmarks.md, Readers).
NEIGHBOUR_WEIGHT = 0.6  #: how far the better neighbour of a group speaks for it as the place to begin
CODE_BONUS = 0.15  #: for code where steps are wanted
STEPS_BONUS = 0.1  #: for a list where steps are wanted
LIST_BONUS = 0.25  #: for a list or a table where a list is wanted
FURTHER_LEAST = 0.5  #: what a group away from the best one must score, against it
CAPTION_WORDS = 6  #: a paragraph up to here without an end is a caption
STEM_WORDS = 40  #: a paragraph up to here that ends with a colon only introduces something

_COLON = re.compile(r"(?<!:):[*_]*$")
_SENTENCE_END = re.compile(r"[.!?…)][\"'”’*_`]*$")


@dataclass(frozen=True, slots=True)
class Budget:
    """How much of a section is shown, in words: all of it up to `whole`, else about `words`."""

    words: int
    whole: int


@dataclass(frozen=True, slots=True)
class BlockGroup:
    """What is shown together or not at all: a block, or a list, code or table with the paragraph that introduces it."""

    blocks: tuple[MarkdownBlock, ...]

    @property
    def text(self) -> str:
        return "\n\n".join(block.text for block in self.blocks)

    @property
    def size(self) -> int:
        return len(self.text.split())

    @property
    def kinds(self) -> frozenset[str]:
        return frozenset(block.kind for block in self.blocks)


@dataclass(frozen=True, slots=True)
class Extract:
    """Runs of groups in the book's order; something was left out between two runs."""

    runs: tuple[tuple[BlockGroup, ...], ...]

    @property
    def blocks(self) -> tuple[MarkdownBlock, ...]:
        return tuple(block for run in self.runs for group in run for block in group.blocks)


def extract(text: str, question: QuestionType, weights: TermWeights, budget: Budget) -> Extract:
    """The groups around the best one, and further good ones, as far as the budget goes; the best one always."""
    groups = block_groups(text)
    if not groups:
        return Extract(())
    sizes = [group.size for group in groups]
    if sum(sizes) <= budget.whole:
        return Extract((groups,))
    scores = [_score(group, question, weights) for group in groups]
    first, last = _window(scores, sizes, budget.words)
    chosen = set(range(first, last + 1))
    room = budget.words - sum(sizes[first : last + 1])
    least = FURTHER_LEAST * max(scores[first : last + 1])
    for index in sorted(range(len(groups)), key=lambda at: (-scores[at], at)):
        if index not in chosen and sizes[index] <= room and scores[index] > least:
            chosen.add(index)
            room -= sizes[index]
    return Extract(_runs(groups, sorted(chosen)))


@lru_cache(maxsize=256)
def block_groups(text: str) -> tuple[BlockGroup, ...]:
    """The groups of a section, without headings, captions and sentences that introduce nothing; all groups if no other
    is left."""
    groups: list[list[MarkdownBlock]] = []
    for block in markdown_blocks(text):
        if groups and _belongs_to(groups[-1], block):
            groups[-1].append(block)
        else:
            groups.append([block])
    text_groups = [group for group in groups if group[0].kind != "heading"]
    shown = [group for group in text_groups if not _is_orphan(group)]
    return tuple(BlockGroup(tuple(group)) for group in shown or text_groups)


def _belongs_to(group: Sequence[MarkdownBlock], block: MarkdownBlock) -> bool:
    """Whether the paragraph at the end of a group introduces the block that follows it."""
    lead = group[-1]
    if lead.kind != "paragraph" or block.kind == "heading":
        return False
    return block.kind != "paragraph" or bool(_COLON.search(lead.text))


def _is_orphan(group: Sequence[MarkdownBlock]) -> bool:
    """Whether a group is only a caption, or a sentence whose list or code is missing."""
    if len(group) > 1 or group[0].kind != "paragraph":
        return False
    text = group[0].text.strip()
    words = len(text.split())
    is_caption = words <= CAPTION_WORDS and not _SENTENCE_END.search(text)
    return is_caption or (words <= STEM_WORDS and bool(_COLON.search(text)))


def _score(group: BlockGroup, question: QuestionType, weights: TermWeights) -> float:
    """How much of the question a group holds, in all and in its best sentence, and whether it has the wanted form."""
    sentence = max((coverage(weights, content_words(unit.text)) for unit in units(group.text)), default=0.0)
    score = (coverage(weights, content_words(group.text)) + sentence) / 2
    if question.kind in ("how-to", "steps", "command", "code"):
        code = any(block.kind == "code" and question.wants(block) for block in group.blocks)
        score += CODE_BONUS * code + STEPS_BONUS * ("list" in group.kinds)
    if question.kind == "list":
        score += LIST_BONUS * bool(group.kinds & {"list", "table"})
    return score


def _window(scores: Sequence[float], sizes: Sequence[int], words: int) -> tuple[int, int]:
    """The first and last group around the best one; it grows towards the better neighbour, of two
    equal ones the following, while there is room."""
    first = last = max(range(len(scores)), key=lambda at: (_with_neighbour(scores, at), -at))
    room = words - sizes[first]
    while True:
        before = scores[first - 1] if first and sizes[first - 1] <= room else None
        after = scores[last + 1] if last + 1 < len(sizes) and sizes[last + 1] <= room else None
        if before is None and after is None:
            return first, last
        if after is None or (before is not None and before > after):
            first -= 1
            room -= sizes[first]
        else:
            last += 1
            room -= sizes[last]


def _with_neighbour(scores: Sequence[float], at: int) -> float:
    neighbours = [*scores[max(0, at - 1) : at], *scores[at + 1 : at + 2]]
    return scores[at] + NEIGHBOUR_WEIGHT * max(neighbours, default=0.0)


def _runs(groups: Sequence[BlockGroup], chosen: Sequence[int]) -> tuple[tuple[BlockGroup, ...], ...]:
    runs: list[list[BlockGroup]] = []
    for before, index in zip((None, *chosen), chosen, strict=False):
        if before is None or index != before + 1:
            runs.append([])
        runs[-1].append(groups[index])
    return tuple(map(tuple, runs))
