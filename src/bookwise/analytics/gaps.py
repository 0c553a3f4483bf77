"""Questions without a good answer → groups by topic, each with a name."""

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
from bookwise.text.markup import without_markup
from bookwise.text.masking import EMAIL_MASK, KEY_MASK
from bookwise.text.topics import TOKEN, bare, names_something, phrases
from bookwise.text.words import stem

GapKind: TypeAlias = Literal["unanswered", "low-confidence"]

EXAMPLES_MAX = 5
NOT_KEPT = "questions that were not kept"
UNNAMED = "other questions"
# A word in at least this share and number of the answered questions belongs to the subject of the whole book.
_COMMON_SHARE, _COMMON_LEAST = 0.2, 5
_POSSESSIVE = re.compile(r"['’]s?$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Questions about one topic without an answer, or with an uncertain one. The book may cover the topic: a refusal
    can be wrong."""

    kind: GapKind
    name: str
    entries: tuple[AskedQuestion, ...]  #: newest first, never empty

    @property
    def count(self) -> int:
        return len(self.entries)

    @property
    def last_asked(self) -> datetime:
        return self.entries[0].asked_at

    @property
    def examples(self) -> tuple[str, ...]:
        """Returns the newest questions, each once."""
        distinct = {normalized(entry.standalone): entry.question for entry in reversed(self.entries) if entry.question}
        return tuple(distinct.values())[: -EXAMPLES_MAX - 1 : -1]


def gaps(questions: Sequence[AskedQuestion], kind: GapKind, *, common: frozenset[str]) -> list[Gap]:
    """Returns the questions in groups that share a topic; the largest group first.

    `questions` has the newest question first. Words in `common` only count for questions without other words.
    """
    texts = [_plain(entry.standalone) for entry in questions]
    terms = [_topic_terms(text, common) for text in texts]
    groups = []
    for members in _clusters(terms):
        shared = frozenset.intersection(*(terms[at] for at in members))
        name = _name(shared, [texts[at] for at in members])
        groups.append(Gap(kind=kind, name=name, entries=tuple(questions[at] for at in members)))
    pairs = list(zip(questions, terms, strict=True))
    for name, has_text in ((UNNAMED, True), (NOT_KEPT, False)):
        rest = tuple(entry for entry, entry_terms in pairs if not entry_terms and bool(entry.question) is has_text)
        groups += [Gap(kind=kind, name=name, entries=rest)] if rest else []
    return sorted(groups, key=lambda gap: (-gap.count, -gap.last_asked.timestamp(), gap.name))


def common_terms(questions: Sequence[str]) -> frozenset[str]:
    """Returns the words that many answered questions contain: they name the subject of the whole book."""
    counts = Counter(term for question in questions for term in _terms(_plain(question)))
    least = max(_COMMON_LEAST, _COMMON_SHARE * len(questions))
    return frozenset(term for term, count in counts.items() if count >= least)


@lru_cache(maxsize=16_384)
def _terms(question: str) -> frozenset[str]:
    """Returns the stems of the words that can identify a topic; numbers only if there is nothing else."""
    terms = frozenset(stem(word) for word in map(bare, TOKEN.findall(question)) if names_something(word))
    return frozenset(term for term in terms if not term.isdigit()) or terms


def _topic_terms(question: str, common: frozenset[str]) -> frozenset[str]:
    return _terms(question) - common or _terms(question)


def _clusters(terms: Sequence[frozenset[str]]) -> Iterator[list[int]]:
    """Yields groups of questions: repeatedly those of the remaining ones that contain the most frequent word.

    Outdated counts in the heap are corrected when they come up, so each question is visited once per word.
    """
    members_of = _members(terms)
    remaining = {term: len(members) for term, members in members_of.items()}
    heap = [(-count, term) for term, count in remaining.items()]
    heapify(heap)
    assigned = [False] * len(terms)
    while heap:
        count, term = heappop(heap)
        if remaining[term] < -count:
            if remaining[term]:
                heappush(heap, (-remaining[term], term))
            continue
        members = [at for at in members_of[term] if not assigned[at]]
        for at in members:
            assigned[at] = True
            for other in terms[at]:
                remaining[other] -= 1
        yield members


def _members(terms: Sequence[frozenset[str]]) -> Mapping[str, list[int]]:
    """Returns the indexes of the questions that contain each term."""
    members: defaultdict[str, list[int]] = defaultdict(list)
    for index, question_terms in enumerate(terms):
        for term in question_terms:
            members[term].append(index)
    return members


def _name(shared: frozenset[str], questions: Sequence[str]) -> str:
    """Returns the phrase around a shared word that most questions contain, in its most frequent spelling.

    Among equals the longest phrase wins, then the last one: the topic usually comes at the end of a question.
    """
    counts: Counter[tuple[str, ...]] = Counter()
    spellings: defaultdict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    for question in questions:
        runs = dict(_runs(shared, question))
        counts.update(runs.keys())
        for stems, spelling in runs.items():
            spellings[stems][spelling] += 1
    order = {stems: at for at, stems in enumerate(counts)}
    best = max(counts, key=lambda stems: (counts[stems], len(stems), order[stems]))
    return _most_common(spellings[best])


def _runs(shared: frozenset[str], question: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yields stems and spelling of each shared word, and of every run of words around one within a phrase."""
    for token in TOKEN.findall(question):
        if (root := stem(bare(token))) in shared:
            yield (root,), _POSSESSIVE.sub("", token)
    for phrase in phrases(question):
        tokens = list(TOKEN.finditer(phrase))
        stems = tuple(stem(bare(token.group())) for token in tokens)
        for first, last in combinations(range(len(tokens) + 1), 2):
            if not shared.isdisjoint(stems[first:last]):
                spelling = phrase[tokens[first].start() : tokens[last - 1].end()]
                yield stems[first:last], _POSSESSIVE.sub("", spelling)


def _plain(question: str) -> str:
    """Returns the words that the reader wrote: markup and masks are not a topic."""
    return without_markup(question.replace(EMAIL_MASK, " ").replace(KEY_MASK, " "))


def normalized(question: str) -> str:
    """Returns the question as it is compared with others."""
    return " ".join(question.lower().split())


def _most_common(spellings: Mapping[str, int]) -> str:
    return min(spellings, key=lambda spelling: (-spellings[spelling], spelling))
