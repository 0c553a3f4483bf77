"""Sentence + the sentences of the passages → whether it contradicts those that speak of the same.

Two comparisons. A sentence that is nearly copied is compared word by word: a small change that adds a negation, or puts
an opposite, another number or another name in the place of one, reverses what it says. Of any other sentence, each
number and identifier is compared with the sentences that have the same words around it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import combinations
from typing import Literal

from bookwise.answering.grounding.statements import NOT, UNIT, Statement
from bookwise.text.opposites import opposites
from bookwise.text.quantities import Quantity
from bookwise.text.words import is_content_word

# All values were chosen with `benchmarks.contradictions` and `benchmarks.grounding` (docs/benchmarks.md).
SAME_SUBJECT = 0.6  #: share of the words around a word from which a sentence speaks of the same
AS_CLOSE = 0.75  #: of that share: a sentence that confirms a number or identifier must be this close to the closest one
NEAR_COPY = 0.6  #: share of common terms from which two sentences are compared word by word
SAME_WORDS = 0.9  #: the same share, from which words that trade places have not come from elsewhere
SMALL_CHANGE = 4  #: words; a larger change is another clause
LONGEST = 80  #: words of a comparable sentence; a longer one has no ends that we know

_LISTED = frozenset(("and", "or"))  # the items of a list may trade places


@dataclass(frozen=True, slots=True)
class Change:
    """Words of a passage, and the words that a nearly copied sentence has in their place."""

    removed: tuple[str, ...]
    added: tuple[str, ...]

    @property
    def is_small(self) -> bool:
        return len(self.removed) <= SMALL_CHANGE and len(self.added) <= SMALL_CHANGE


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two sentences word by word."""

    same: frozenset[int]  #: places of the new sentence whose words the old one has in the same order
    changes: tuple[Change, ...]


def contradicts(sentence: Statement, known: Sequence[Statement]) -> bool:
    """Returns whether the sentence differs from the known sentences that speak of the same: in a negation, an opposite,
    a number or its unit, an identifier, a name, or in which of two things does what to the other."""
    comparable = [other for other in known if len(other.sequence) <= LONGEST]
    return (
        _is_altered_copy(sentence, comparable)
        or any(_is_other_quantity(quantity, sentence, known) for quantity in sentence.quantities)
        or any(_is_other_identifier(identifier, sentence, known) for identifier in sentence.identifiers)
    )


# --- nearly copied sentences


def _is_altered_copy(sentence: Statement, known: Sequence[Statement]) -> bool:
    """Returns whether a part of the sentence was altered. A part belongs to the sentence that it copies best."""
    copies = []
    for other in known:
        if _common_share(sentence, other) >= NEAR_COPY:
            comparison = _compare(other.sequence, sentence.sequence)
            copies.append((comparison.same, _is_altered(comparison.changes, sentence, other)))
    copied: frozenset[int] = frozenset()
    for same, is_altered in sorted(copies, key=lambda copy: (-len(copy[0]), copy[1])):
        if len(same - copied) <= len(same) / 2:
            continue
        if is_altered:
            return True
        copied |= same
    return False


def _common_share(sentence: Statement, other: Statement) -> float:
    """Returns the share of common terms, of the terms of the shorter sentence. One common term does not count."""
    common = len(sentence.terms & other.terms)
    return common / min(len(sentence.terms), len(other.terms)) if common > 1 else 0.0


@lru_cache(maxsize=1_024)
def _compare(old: tuple[str, ...], new: tuple[str, ...]) -> Comparison:
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    changes = [Change(old[a:b], new[c:d]) for tag, a, b, c, d in matcher.get_opcodes() if tag != "equal"]
    same = (place for block in matcher.get_matching_blocks() for place in range(block.b, block.b + block.size))
    return Comparison(frozenset(same), tuple(changes))


def _is_altered(changes: Sequence[Change], sentence: Statement, other: Statement) -> bool:
    removed, added = _words_of(changes, "removed"), _words_of(changes, "added")
    if ("by" in sentence.sequence) != ("by" in other.sequence):
        changes = [_without(change, removed & added) for change in changes]  # in a passive, words only move
    elif _common_share(sentence, other) >= SAME_WORDS and _trade_places(changes):
        # `b is slower than a` says the same as `a is faster than b`
        return not _opposes(Change(tuple(removed - added), tuple(added - removed)))
    small = [change for change in changes if change.is_small]
    return any(_reverses(change, small) or _replaces(change, sentence, other) for change in small)


def _without(change: Change, moved: set[str]) -> Change:
    removed, added = ([word for word in words if word not in moved] for words in (change.removed, change.added))
    return Change(tuple(removed), tuple(added))


def _words_of(changes: Sequence[Change], side: Literal["removed", "added"]) -> set[str]:
    return {word for change in changes for word in getattr(change, side)}


def _reverses(change: Change, changes: Sequence[Change]) -> bool:
    """Returns whether a change adds or removes a negation, or replaces a word by its opposite, but not both: `is not
    allowed` for `is forbidden`."""
    return _negates(change, changes) != _opposes(change)


def _opposes(change: Change) -> bool:
    """Returns whether a change replaces a word by its opposite."""
    return any(not opposites(word).isdisjoint(change.removed) for word in change.added)


def _negates(change: Change, changes: Sequence[Change]) -> bool:
    """Returns whether a change adds or removes a negation that no other change puts back."""
    if (NOT in change.removed) == (NOT in change.added):
        return False
    others = [other for other in changes if other is not change]
    return NOT not in _words_of(others, "added" if NOT in change.removed else "removed")


def _replaces(change: Change, sentence: Statement, other: Statement) -> bool:
    """Returns whether a name, number, unit or identifier stands in the place of another. A longer name may be another
    form of the same: `Robot Operating System` for `ROS`."""
    if not change.removed or not change.added:
        return False
    if all(map(other.is_code, change.removed)) and all(map(sentence.is_code, change.added)):
        return True
    if len(change.removed) > 1 or len(change.added) > 1:
        return False
    kind = _kind(change.removed[0], other)
    return kind is not None and kind == _kind(change.added[0], sentence)


def _kind(word: str, statement: Statement) -> Literal["number", "unit", "name"] | None:
    if word[0].isdigit():
        return "number"
    if word.startswith(UNIT):
        return "unit"
    return "name" if word in statement.names else None


def _trade_places(changes: Sequence[Change]) -> bool:
    """Returns whether two words trade places. A clause that moves as a whole says the same as before."""
    return any(_are_exchanged(first, second) for first, second in combinations(changes, 2))


def _are_exchanged(first: Change, second: Change) -> bool:
    if _moved_terms(first.removed, second.added) and _moved_terms(second.removed, first.added):
        return True
    return _moves_across(first.removed, second.added) or _moves_across(second.removed, first.added)


def _moved_terms(removed: Sequence[str], added: Sequence[str]) -> set[str]:
    return {word for word in removed if word in added and is_content_word(word)}


def _moves_across(removed: Sequence[str], added: Sequence[str]) -> bool:
    """Returns whether a term changes sides with the small word beside it: `of a` becomes `a of`."""
    old, new = ([word for word in words if word in removed and word in added] for words in (removed, added))
    if old == new or sorted(old) != sorted(new) or len(old) > SMALL_CHANGE or set(old) & _LISTED:
        return False
    return 0 < sum(map(is_content_word, old)) < len(old)


# --- words in their context


def _closeness(around: frozenset[str], other: Statement) -> float:
    return len(around & other.terms) / len(around) if around else 0.0


def _is_other_quantity(quantity: Quantity, sentence: Statement, known: Sequence[Statement]) -> bool:
    around = sentence.around(quantity.start)
    closeness = [(_closeness(around, other), other) for other in known]
    closest = max((close for close, _ in closeness), default=0.0)
    needed = AS_CLOSE * closest if closest >= SAME_SUBJECT else 0.0
    if any(close >= needed and any(map(quantity.equals, other.quantities)) for close, other in closeness):
        return False
    if not quantity.in_words:
        return True
    # A count in words may be the model's own: `two films` for a list of two. Only another count of the same denies it.
    return any(
        close >= max(needed, SAME_SUBJECT) and any(map(quantity.counts_like, other.quantities))
        for close, other in closeness
    )


def _is_other_identifier(identifier: str, sentence: Statement, known: Sequence[Statement]) -> bool:
    """Returns whether the closest sentences have another identifier in its place."""
    around = sentence.terms - {identifier}
    closeness = [(_closeness(around, other), other) for other in known]
    closest = max((close for close, _ in closeness), default=0.0)
    confirmed = max((close for close, other in closeness if identifier in other.spellings), default=0.0)
    if closest < SAME_SUBJECT or confirmed >= AS_CLOSE * closest:
        return False
    return any(other.identifiers - sentence.spellings for close, other in closeness if close == closest)
