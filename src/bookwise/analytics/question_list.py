"""Questions of readers → the lists of the author's view: what needs work, what is marked as fixed or ignored."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from bookwise.analytics.gaps import UNNAMED, GapKind, common_terms, gaps, normalized
from bookwise.analytics.insights import READ_MAX, is_low_confidence, is_small_talk
from bookwise.domain.journal import AskedQuestion

QuestionKind: TypeAlias = Literal["unanswered", "low-confidence", "disliked"]
MarkStatus: TypeAlias = Literal["open", "fixed", "ignored"]

GROUPS_FROM = 30  #: fewer questions are easier to read as a list
STATUSES: tuple[MarkStatus, ...] = ("open", "fixed", "ignored")

_BELONGS: Mapping[QuestionKind, Callable[[AskedQuestion], bool]] = {
    "unanswered": lambda entry: entry.outcome == "refused" and not is_small_talk(entry),
    "low-confidence": is_low_confidence,
    "disliked": lambda entry: entry.thumb == "down",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedQuestion:
    """A question with the author's decision about it."""

    entry: AskedQuestion
    status: MarkStatus
    asked_again: bool  #: the same question was marked as fixed before it was asked


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionGroupList:
    """A group of questions about one subject."""

    name: str
    questions: tuple[ListedQuestion, ...]  #: newest first


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionList:
    """The questions of one kind and status, newest first."""

    questions: tuple[ListedQuestion, ...]
    groups: tuple[
        QuestionGroupList, ...
    ]  #: the same by subject, largest first, single ones last; empty below the minimum
    counts: Mapping[MarkStatus, int]  #: questions of this kind by status
    truncated: bool  #: there are more questions than were read; the oldest are not included


def list_questions(entries: Sequence[AskedQuestion], kind: QuestionKind, status: MarkStatus) -> QuestionList:
    """Returns the questions of this kind and status. `entries` has all questions of the period, newest first."""
    listed = [question for question in with_status(entries) if _BELONGS[kind](question.entry)]
    selected = tuple(question for question in listed if question.status == status)
    counts = Counter(question.status for question in listed)
    return QuestionList(
        questions=selected,
        groups=_groups(selected, kind, entries) if kind != "disliked" and len(selected) >= GROUPS_FROM else (),
        counts={name: counts[name] for name in STATUSES},
        truncated=len(entries) >= READ_MAX,
    )


def with_status(entries: Iterable[AskedQuestion]) -> list[ListedQuestion]:
    """Returns the questions with their status.

    A question with the words of an ignored one is ignored. One with the words of a fixed one is open: it was asked
    again, so the fix did not help this reader.
    """
    entries = list(entries)
    ignored = {normalized(entry.standalone) for entry in entries if entry.mark == "ignored" and entry.question}
    fixed_at = {
        normalized(entry.standalone): entry.marked_at
        for entry in entries
        if entry.mark == "fixed" and entry.question and entry.marked_at
    }
    found = []
    for entry in entries:
        words = normalized(entry.standalone)
        status: MarkStatus = entry.mark or ("ignored" if words in ignored else "open")
        fixed = fixed_at.get(words)
        found.append(
            ListedQuestion(entry=entry, status=status, asked_again=fixed is not None and entry.asked_at > fixed)
        )
    return found


def _groups(
    selected: Sequence[ListedQuestion], kind: GapKind, entries: Sequence[AskedQuestion]
) -> tuple[QuestionGroupList, ...]:
    """Returns the groups of two and more, and then all other questions as one group."""
    common = common_terms([entry.standalone for entry in entries if entry.outcome == "answered"])
    found = gaps([question.entry for question in selected], kind, common=common)
    named = {entry.answer_id: gap for gap in found if gap.count > 1 and gap.name != UNNAMED for entry in gap.entries}
    rest = tuple(question for question in selected if question.entry.answer_id not in named)
    by_id = {question.entry.answer_id: question for question in selected}
    groups = [
        QuestionGroupList(name=gap.name, questions=tuple(by_id[entry.answer_id] for entry in gap.entries))
        for gap in dict.fromkeys(named.values())
    ]
    groups.sort(key=lambda group: -len(group.questions))
    return (*groups, *([QuestionGroupList(name=UNNAMED, questions=rest)] if rest else []))
