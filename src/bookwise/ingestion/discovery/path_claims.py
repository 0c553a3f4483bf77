"""A lesson's path → the module, chapter and lesson number it states."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bookwise.ingestion.discovery.names import slug, stem

OVERVIEWS = frozenset({"readme", "index", "overview"})

_MODULE_WORDS = ("module", "mod", "part")
_CHAPTER_WORDS = ("chapter", "chap", "ch")
_LESSON_WORDS = ("lesson", "lecture", "lec")
_NUMBERED_WORD = re.compile(
    r"(module|mod|part|chapter|chap|ch|week|lesson|lecture|lec)[-_. ]*([0-9]{1,3})(?=$|[-_. ])[-_. ]*",
    re.IGNORECASE,
)
_CHAPTER_WITHOUT_NUMBER = re.compile(r"chapter[-_. ]+(?=\D)", re.IGNORECASE)
_NUMBER = re.compile(r"([0-9]{1,3})(?=$|[-_. ])[-_. ]*")
_TWO_NUMBERS = re.compile(r"(?:([0-9]{1,3})\.([0-9]{1,3})|([0-9]{2})[-_]([0-9]{2}))(?=$|[-_. ])(?![-_.][0-9])[-_. ]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class PathClaim:
    """What a path states about a lesson's position, and what it suggests."""

    module: str | None = None
    chapter: int | None = None
    lesson: int | None = None
    suggested_module: str | None = None  #: from a first folder without a number
    chapter_folder: str = ""  #: below the module; empty for lessons outside the chapters
    is_overview: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _NameParts:
    """The parts of a file or folder name: `ch04-01-what` is chapter 4, lesson 1, "what"."""

    module: str | None = None
    chapter: int | None = None
    lesson: int | None = None
    bare: tuple[int, ...] = ()  #: leading numbers without a word before them: `02-x`, `3.2-x`
    is_chapter: bool = False  #: the name contains "chapter", with or without a number
    text: str = ""


def branching_folders(paths: Iterable[str]) -> frozenset[str]:
    """Top folders that contain subfolders with lessons: these are modules, not chapters."""
    return frozenset(parts[0] for path in paths if len(parts := path.split("/")) > 2)


def claim_from_path(path: str, branching: frozenset[str] = frozenset()) -> PathClaim:
    """What the path states: `module-1-ros2/chapter-3-x/02-y.md` → ros2, 3, 2."""
    *folders, file = path.split("/")
    names = [_split_name(folder) for folder in folders]
    own = _split_name(stem(file))
    below = _folders_below_module(names)
    module = _module(names, own)
    chapter = _chapter(own, names, below)
    if chapter is None and len(names) == 1 and folders[0] not in branching:
        chapter = _only(names[0].bare)
    if chapter is None and len(own.bare) == 2:
        chapter = own.bare[0]
    return PathClaim(
        module=module,
        chapter=chapter,
        lesson=_lesson(own, names, chapter),
        suggested_module=slug(folders[0]) if names and not module and not names[0].is_chapter else None,
        chapter_folder="/".join(folders[len(names) - len(below) :]),
        is_overview=stem(file).lower() in OVERVIEWS,
    )


def _folders_below_module(names: Sequence[_NameParts]) -> Sequence[_NameParts]:
    module_depth = next((depth for depth, name in enumerate(names) if name.module), None)
    if module_depth is not None:
        return names[module_depth + 1 :]
    return names if names and names[0].is_chapter else names[1:]


def _module(folders: Sequence[_NameParts], own: _NameParts) -> str | None:
    module = next((name.module for name in (*folders, own) if name.module), None)
    if module is None and folders and folders[0].bare and folders[0].text:
        return slug(folders[0].text)
    return module


def _chapter(own: _NameParts, folders: Sequence[_NameParts], below: Sequence[_NameParts]) -> int | None:
    words = (name.chapter for name in (own, *reversed(folders)))
    numbers = (_only(name.bare) for name in below)
    return next((n for n in (*words, *numbers) if n is not None), None)


def _lesson(own: _NameParts, folders: Sequence[_NameParts], chapter: int | None) -> int | None:
    stated = next((n for name in (own, *reversed(folders)) if (n := name.lesson) is not None), None)
    if stated is not None or not own.bare:
        return stated
    # `3.2-x` in chapter 3 is lesson 2; in another chapter it is lesson 3.
    return own.bare[1] if own.bare[0] == chapter and len(own.bare) == 2 else own.bare[0]


def _only(numbers: tuple[int, ...]) -> int | None:
    return numbers[0] if len(numbers) == 1 else None


def _split_name(name: str) -> _NameParts:
    if not _NUMBERED_WORD.match(name):
        return _without_word(name)
    numbers: dict[str, int] = {}
    word, at = "", 0
    while match := _NUMBERED_WORD.match(name, at):
        word, at = match[1].lower(), match.end()
        numbers[_role(word)] = int(match[2])
    # In `ch04-01-x` the second number is the lesson; `week-1-2-x` covers two weeks.
    if word in _CHAPTER_WORDS and (match := _NUMBER.match(name, at)):
        numbers["lesson"], at = int(match[1]), match.end()
    return _NameParts(
        module=_module_name(name, numbers.get("module"), name[at:]),
        chapter=numbers.get("chapter"),
        lesson=numbers.get("lesson"),
        is_chapter="chapter" in numbers and "module" not in numbers,
        text=name[at:],
    )


def _role(word: str) -> str:
    if word in _MODULE_WORDS:
        return "module"
    return "lesson" if word in _LESSON_WORDS else "chapter"


def _module_name(name: str, number: int | None, text: str) -> str | None:
    if number is None:
        return None
    word = re.match(r"[a-z]+", name.lower())
    return slug(text) if text else f"{word[0] if word else 'module'}-{number}"


def _without_word(name: str) -> _NameParts:
    if _CHAPTER_WITHOUT_NUMBER.match(name):
        return _NameParts(is_chapter=True, text=name)
    if match := _TWO_NUMBERS.match(name):
        numbers = tuple(int(number) for number in match.groups() if number is not None)
        return _NameParts(bare=numbers, text=name[match.end() :])
    if match := _NUMBER.match(name):
        return _NameParts(bare=(int(match[1]),), text=name[match.end() :])
    return _NameParts(text=name)
