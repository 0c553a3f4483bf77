"""Questions that found no good answer → groups by what they are about, each with a name."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from heapq import heapify, heappop, heappush
from itertools import combinations
from typing import Literal, TypeAlias

from bookwise.domain.journal import AskedQuestion
from bookwise.text.topics import TOKEN, bare, names_something, phrases
from bookwise.text.words import stem

GapKind: TypeAlias = Literal["unanswered", "low-confidence"]

EXAMPLES_MAX = 5
NOT_KEPT = "questions that were not kept"
UNNAMED = "other questions"
_COMMON_SHARE, _COMMON_LEAST = 0.2, 5  # of the answered questions hold a word: then it tells no subject from another
_POSSESSIVE = re.compile(r"['’]s?$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Questions about one subject that the book does not answer, or hardly."""

    kind: GapKind
    name: str
    asked: tuple[AskedQuestion, ...]  #: newest first, never empty

    @property
    def count(self) -> int:
        return len(self.asked)

    @property
    def last_asked(self) -> datetime:
        return self.asked[0].asked_at

    @property
    def examples(self) -> tuple[str, ...]:
        """The newest questions, each once."""
        once = {" ".join(one.question.lower().split()): one.question for one in reversed(self.asked) if one.question}
        return tuple(once.values())[: -EXAMPLES_MAX - 1 : -1]


def gaps(asked: Sequence[AskedQuestion], kind: GapKind, *, common: frozenset[str]) -> list[Gap]:
    """Every question in one group with those that share its rarer words; the most asked first. `asked` is newest
    first; words in `common` only count where a question has no other."""
    terms = [_telling(one.question, common) for one in asked]
    groups = []
    for members in _clusters(terms):
        shared = frozenset.intersection(*(terms[at] for at in members))
        name = _name(shared, [asked[at].question for at in members])
        groups.append(Gap(kind=kind, name=name, asked=tuple(asked[at] for at in members)))
    for name, kept in ((UNNAMED, True), (NOT_KEPT, False)):
        rest = tuple(one for one, found in zip(asked, terms, strict=True) if not found and bool(one.question) is kept)
        groups += [Gap(kind=kind, name=name, asked=rest)] if rest else []
    return sorted(groups, key=lambda gap: (-gap.count, -gap.last_asked.timestamp(), gap.name))


def common_terms(questions: Sequence[str]) -> frozenset[str]:
    """The words of the book's own subject: too many of the questions it answers hold them."""
    counted = Counter(term for question in questions for term in _terms(question))
    least = max(_COMMON_LEAST, _COMMON_SHARE * len(questions))
    return frozenset(term for term, count in counted.items() if count >= least)


@lru_cache(maxsize=16_384)
def _terms(question: str) -> frozenset[str]:
    """What a question names, in one spelling; numbers only where it names nothing else."""
    found = frozenset(stem(word) for word in map(bare, TOKEN.findall(question)) if names_something(word))
    return frozenset(term for term in found if not term.isdigit()) or found


def _telling(question: str, common: frozenset[str]) -> frozenset[str]:
    return _terms(question) - common or _terms(question)


def _clusters(terms: Sequence[frozenset[str]]) -> Iterator[list[int]]:
    """Again and again those of the remaining questions that share the word which most of them share. A count in the
    heap that is no longer true is put right when it comes up, so no question is looked at more often than it has words.
    """
    holders = _holders(terms)
    left = {term: len(members) for term, members in holders.items()}
    heap = [(-count, term) for term, count in left.items()]
    heapify(heap)
    taken = [False] * len(terms)
    while heap:
        count, term = heappop(heap)
        if left[term] < -count:
            if left[term]:
                heappush(heap, (-left[term], term))
            continue
        members = [at for at in holders[term] if not taken[at]]
        for at in members:
            taken[at] = True
            for other in terms[at]:
                left[other] -= 1
        yield members


def _holders(terms: Sequence[frozenset[str]]) -> Mapping[str, list[int]]:
    holders: defaultdict[str, list[int]] = defaultdict(list)
    for at, found in enumerate(terms):
        for term in found:
            holders[term].append(at)
    return holders


def _name(shared: frozenset[str], questions: Sequence[str]) -> str:
    """The words around a shared one that most of the questions hold, as most of them spell it. Of one question these
    are its longest phrase, or the last: what it is about stands behind what is done with it."""
    counted: Counter[tuple[str, ...]] = Counter()
    spellings: defaultdict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    for question in questions:
        runs = dict(_runs(shared, question))
        counted.update(runs.keys())
        for stems, spelt in runs.items():
            spellings[stems][spelt] += 1
    order = {stems: at for at, stems in enumerate(counted)}
    best = max(counted, key=lambda stems: (counted[stems], len(stems), order[stems]))
    return _most_common(spellings[best])


def _runs(shared: frozenset[str], question: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """The shared words as the question spells them, and every run of words around one within a phrase."""
    for token in TOKEN.findall(question):
        if (root := stem(bare(token))) in shared:
            yield (root,), _POSSESSIVE.sub("", token)
    for phrase in phrases(question):
        tokens = list(TOKEN.finditer(phrase))
        stems = tuple(stem(bare(token.group())) for token in tokens)
        for first, last in combinations(range(len(tokens) + 1), 2):
            if not shared.isdisjoint(stems[first:last]):
                spelt = phrase[tokens[first].start() : tokens[last - 1].end()]
                yield stems[first:last], _POSSESSIVE.sub("", spelt)


def _most_common(spellings: Mapping[str, int]) -> str:
    return min(spellings, key=lambda spelt: (-spellings[spelt], spelt))
