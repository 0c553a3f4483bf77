"""A question that names no subject, and the places it could be about → the choices to offer."""

from collections.abc import Sequence

from bookwise.domain.answers import Passage
from bookwise.text.words import content_words, stem

CHOICES_MAX = 4
CLOSE = 0.1  #: places whose similarities differ by less fit equally well

_GENERAL = """
install installation uninstall run start stop setup set configure create build open close update upgrade add remove
delete work write read test debug fix problem error go need begin launch enable disable first step command version help
"""  #: words that say what to do, not with what
GENERAL = frozenset(map(stem, _GENERAL.split()))


def choices(question: str, passages: Sequence[Passage]) -> tuple[Passage, ...]:
    """One passage of each lesson the question could be about; none when it names its subject."""
    if content_words(question) - GENERAL:
        return ()
    best = passages[0].score if passages else 0.0
    lessons: dict[str, Passage] = {}
    for passage in passages:
        if best - passage.score <= CLOSE:
            lessons.setdefault(passage.chunk.lesson_id, passage)
    return tuple(lessons.values())[:CHOICES_MAX] if len(lessons) > 1 else ()
