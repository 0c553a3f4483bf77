"""Question + passages → the lessons to choose from, if the question names no subject and several lessons match."""

from collections.abc import Sequence

from bookwise.domain.answers import Passage
from bookwise.text.words import content_words, stem

CHOICES_MAX = 4
EQUAL_WITHIN = 0.1  #: passages whose similarities differ by no more match equally well; chosen on the sample book

_GENERAL = """
install installation uninstall run start stop setup set configure create build open close update upgrade add remove
delete work write read test debug fix problem error go need begin launch enable disable first step command version help
"""  #: words that name an action, not a subject
GENERAL = frozenset(map(stem, _GENERAL.split()))


def choices(question: str, passages: Sequence[Passage]) -> tuple[Passage, ...]:
    """Returns one passage of each lesson the question could be about; empty if the question names its subject."""
    if content_words(question) - GENERAL:
        return ()
    best = passages[0].score if passages else 0.0
    lessons: dict[str, Passage] = {}
    for passage in passages:
        if best - passage.score <= EQUAL_WITHIN:
            lessons.setdefault(passage.chunk.lesson_id, passage)
    return tuple(lessons.values())[:CHOICES_MAX] if len(lessons) > 1 else ()
