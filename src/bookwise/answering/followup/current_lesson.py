"""Question about one lesson, open or chosen → that lesson, and the question with its title."""

import re
from collections.abc import Iterable
from urllib.parse import unquote

from bookwise.domain.answers import CurrentLesson
from bookwise.domain.jobs import LessonRecord
from bookwise.text.words import content_words

_PLACE = r"(?:this|the\s+current)\s+(?:page|lesson|section|chapter|article|tutorial)"
_THIS_LESSON = re.compile(rf"\b{_PLACE}\b", re.IGNORECASE)
_IN_THIS_LESSON = re.compile(rf"\s*,?\s*\b(?:in|on|within|by|from|of|according\s+to)\s+{_PLACE}\b,?", re.IGNORECASE)
_ORIGIN = re.compile(r"^\s*(?:[a-z][a-z0-9+.-]*:)?//[^/?#]*", re.IGNORECASE)
_INDEX = re.compile(r"/(?:index|readme)?(?:\.html?)?$|\.html?$", re.IGNORECASE)


def mentions_current_lesson(text: str) -> bool:
    """Returns whether a question is about the page that the reader has open."""
    return _THIS_LESSON.search(text) is not None


def lesson_at(url: str, records: Iterable[LessonRecord]) -> CurrentLesson | None:
    """Returns the lesson whose page has this URL; None if there is none.

    Only paths are compared: a preview of the site has another host than the published book.
    """
    path = _path(url)
    for record in records:
        if record.url and _path(record.url) == path:
            return CurrentLesson(id=record.lesson_id, title=record.title)
    return None


def with_lesson_title(text: str, title: str) -> str:
    """Returns the question as it is searched for: with the title in place of `this lesson`.

    `on this page` only says where to look, so it is left out if a question remains.
    """
    rest = _IN_THIS_LESSON.sub("", text).strip()
    if len(rest.split()) > 3 and not mentions_current_lesson(rest):
        return rest
    return _THIS_LESSON.sub(lambda _: title, text)


def about_lesson(text: str, title: str) -> str:
    """Returns the question as it is searched for when the reader chose a lesson: `how do I install it? (ROS 2)`."""
    return text if content_words(title) <= content_words(text) else f"{text} ({title})"


def _path(url: str) -> str:
    """Returns the path in one spelling; any text will do, because a reader's browser sends it."""
    path = re.split(r"[?#]", _ORIGIN.sub("", url), maxsplit=1)[0]
    return _INDEX.sub("", unquote(path)).rstrip("/").lower()
