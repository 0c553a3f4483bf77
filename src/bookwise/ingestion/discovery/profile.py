"""`bookwise.toml` → the profile of a book."""

import os
import re
import tomllib
from pathlib import Path
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictInt,
    StrictStr,
    ValidationError,
    model_validator,
)

from bookwise.domain.books import DEFAULT_MODULES, Audience, Calibration, Module
from bookwise.domain.errors import BadLesson, InvalidInput, Misconfigured
from bookwise.domain.search import DEFAULT_BOOK_ID
from bookwise.ingestion.discovery.names import SLUG, is_slug
from bookwise.ingestion.discovery.profile_errors import complaints
from bookwise.ingestion.discovery.reading import read_inside
from bookwise.ingestion.parsing.decode import decode

PROFILE_FILE = "bookwise.toml"
MAX_FILE_BYTES = 256 * 1024 * 1024  #: upper bound for limits.max_file_bytes
MAX_PROFILE_BYTES = 1 * 1024 * 1024
CHAPTER_MAX = 20
LESSON_MAX = 15
NUMBER_MAX = 1_000_000


def checked_book_id(book_id: str) -> str:
    """The id, if it is allowed. Raises `InvalidInput` otherwise."""
    if not is_slug(book_id):
        raise InvalidInput(
            f"{book_id[:80]!r} is not a valid book id.",
            advice="Use 1 to 64 characters: a–z, 0–9 and hyphens, starting with a letter or digit.",
        )
    return book_id


def _reject_boolean(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("Input should be a number, not true or false")
    return value


def _web_address(value: str) -> str:
    if value and not is_web_address(value):
        raise ValueError("Input should start with http:// or https:// and contain a host")
    return value


def _inner_folder(value: str) -> str:
    if value.startswith(("/", "\\")) or ".." in re.split(r"[/\\]", value):
        raise ValueError("Input should be a folder inside the book, such as docs")
    return "" if value == "." else value.removeprefix("./").strip("/")


def _fact_list(value: object) -> object:
    if isinstance(value, str):
        raise ValueError('Input should be a list, such as ["first fact", "second fact"]')
    return value


def _wordings(value: object) -> object:
    """A fact in one wording, as a list of wordings."""
    if isinstance(value, str):
        return (value,)
    if isinstance(value, list | tuple) and value and all(isinstance(wording, str) for wording in value):
        return value
    raise ValueError(
        f'Input should be a text or a list of wordings, such as ["80 %", "80 percent"] (found {value!r:.60})'
    )


def _searchable(value: str) -> str:
    if not any(map(str.isalnum, value)):
        raise ValueError(f"Input should contain a letter or a digit (found {value!r:.60})")
    return value


def is_web_address(value: str) -> bool:
    """Whether the value is an http or https address with a host."""
    try:
        parts = urlsplit(value)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and value.isprintable()


Slug = Annotated[StrictStr, Field(pattern=f"^{SLUG}$")]
Line = Annotated[StrictStr, Field(min_length=1, max_length=300)]
Wording = Annotated[Line, AfterValidator(_searchable)]
Fact = Annotated[tuple[Wording, ...], BeforeValidator(_wordings)]
Glob = Annotated[StrictStr, Field(min_length=1, max_length=1000)]
Number = Annotated[StrictInt, Field(ge=0, le=NUMBER_MAX)]
Tier = Annotated[Literal[1, 2, 3, 4], BeforeValidator(_reject_boolean)]
Level = Literal["A1", "A2", "B1", "B2", "C1", "C2"]
Layer = Literal["L1", "L2", "L3", "L4"]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class BookFacts(_Table):
    """`[book]`: id, title, address and language of the book."""

    id: Slug | None = None
    title: Line | None = None
    base_url: Annotated[StrictStr, AfterValidator(_web_address)] = ""
    docs: Annotated[StrictStr, AfterValidator(_inner_folder)] | None = None
    language: Annotated[StrictStr, Field(pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$")] = "en"


class Defaults(_Table):
    """`[defaults]`: values for lessons that do not state them."""

    hardware_tier: Tier = 1
    proficiency_level: Level = "A2"
    layer: Layer = "L1"
    module: Slug | None = None


class ModuleFacts(_Table):
    """`[[modules]]`: a named part of the book."""

    name: Slug
    title: StrictStr = ""
    aliases: tuple[Slug, ...] = ()


class Limits(_Table):
    """`[limits]`: the highest chapter and lesson number, and the largest file."""

    chapter_max: Number | None = None
    lesson_max: Number | None = None
    max_file_bytes: Annotated[StrictInt, Field(ge=1024, le=MAX_FILE_BYTES)] = 8 * 1024 * 1024


class Rule(_Table):
    """`[[rules]]`: values for lessons whose path matches a glob."""

    path: Glob
    module: Slug | None = None
    chapter: Number | None = None
    lesson: Number | None = None
    hardware_tier: Tier | None = None
    proficiency_level: Level | None = None
    layer: Layer | None = None


class CalibrationFacts(_Table):
    """`[calibration]`: the map from match strength to similarity, fitted on this book."""

    embedder: StrictStr | None = None  #: name of the embedder it was fitted with; None: valid for any
    knots: Annotated[tuple[tuple[float, float], ...], Field(min_length=2, max_length=1000)]

    @model_validator(mode="after")
    def _check_monotone(self) -> Self:
        for (x0, y0), (x1, y1) in zip(self.knots, self.knots[1:], strict=False):
            if not (x0 < x1 and y0 <= y1):
                raise ValueError("knots: strengths must increase from knot to knot and similarities must not decrease")
        if not all(0 <= y <= 1 for _, y in self.knots):
            raise ValueError("knots: similarities must be between 0 and 1")
        return self


class ValidationQuestion(_Table):
    """`[[questions]]`: a test question with the expected lesson and facts, or one that must be refused."""

    id: Annotated[StrictStr, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$")]
    kind: Literal["answerable", "follow-up", "off-topic", "near-miss"]
    text: Annotated[StrictStr, Field(min_length=3, max_length=4000)]
    history: tuple[StrictStr, ...] = ()
    lesson: Line | None = None
    section: StrictStr | None = None
    type: Slug | None = None  #: such as how-to; groups the figures
    contains: Annotated[tuple[Fact, ...], BeforeValidator(_fact_list)] = ()  #: what a good answer contains
    avoid: Annotated[tuple[Wording, ...], BeforeValidator(_fact_list)] = ()  #: what a good answer does not contain

    @model_validator(mode="after")
    def _check_expectation(self) -> Self:
        if self.kind in ("answerable", "follow-up") and self.lesson is None:
            raise ValueError(f"a question of kind {self.kind} needs lesson")
        if self.kind == "follow-up" and not self.history:
            raise ValueError("a question of kind follow-up needs history")
        return self

    @model_validator(mode="after")
    def _check_facts(self) -> Self:
        if self.contains and self.kind not in ("answerable", "follow-up"):
            raise ValueError(f"remove contains: a question of kind {self.kind} must be refused, not answered")
        if self.avoid and not self.contains:
            raise ValueError("avoid needs contains: add the facts that a good answer contains")
        return self


class BookProfile(_Table):
    """All of `bookwise.toml`."""

    book: BookFacts = BookFacts()
    defaults: Defaults = Defaults()
    modules: tuple[ModuleFacts, ...] = ()
    limits: Limits = Limits()
    rules: tuple[Rule, ...] = ()
    exclude: tuple[Glob, ...] = ()
    calibration: CalibrationFacts | None = None
    questions: tuple[ValidationQuestion, ...] = ()
    settings: dict[str, object] = {}  #: settings of the program, for running it in the book's folder

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        _require_unique("modules", [name for m in self.modules for name in (m.name, *m.aliases)])
        _require_unique("questions", [question.id for question in self.questions])
        listed = [module.name for module in self.modules]
        if listed and self.defaults.module is not None and self.defaults.module not in listed:
            raise ValueError(f"defaults.module should be one of the modules: {', '.join(listed)}")
        return self

    @property
    def audience(self) -> Audience:
        """The audience of lessons that do not state one."""
        defaults = self.defaults
        return Audience(
            hardware_tier=defaults.hardware_tier, proficiency_level=defaults.proficiency_level, layer=defaults.layer
        )

    @property
    def module_list(self) -> tuple[Module, ...]:
        """The modules that the book lists."""
        return tuple(Module(name=m.name, title=m.title, aliases=m.aliases) for m in self.modules)

    @property
    def default_module(self) -> str:
        """The module of lessons that name none."""
        return self.defaults.module or (self.modules[0].name if self.modules else "main")

    @property
    def chapter_max(self) -> int | None:
        """The highest chapter number; None: no limit."""
        return self._limit(self.limits.chapter_max, CHAPTER_MAX)

    @property
    def lesson_max(self) -> int | None:
        """The highest lesson number; None: no limit."""
        return self._limit(self.limits.lesson_max, LESSON_MAX)

    def _limit(self, value: int | None, default: int) -> int | None:
        return value if value is not None or not self.modules else default

    def fitted(self, embedder: str) -> Calibration | None:
        """The calibration of the book for this embedder, or None."""
        calibration = self.calibration
        if calibration is None or calibration.embedder not in (None, embedder):
            return None
        return Calibration(knots=calibration.knots)


def _require_unique(table: str, names: list[str]) -> None:
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"{table}: each name may be used once, but {', '.join(repeated[:5])} is used again")


def completed(profile: BookProfile, book_id: str) -> BookProfile:
    """The profile; for the default book, with the built-in modules unless the author lists modules."""
    if book_id != DEFAULT_BOOK_ID or profile.modules:
        return profile
    defaults = profile.defaults
    if defaults.module is None:
        defaults = defaults.model_copy(update={"module": DEFAULT_MODULES[0].name})
    modules = tuple(ModuleFacts(name=m.name, title=m.title, aliases=m.aliases) for m in DEFAULT_MODULES)
    return profile.model_copy(update={"modules": modules, "defaults": defaults})


def read_profile(root: Path) -> BookProfile:
    """The profile in `bookwise.toml`, or the default profile if there is none. Raises `Misconfigured`."""
    path = root / PROFILE_FILE
    if not os.path.lexists(path):
        return BookProfile()
    try:
        return BookProfile.model_validate(tomllib.loads(_text(root)))
    except tomllib.TOMLDecodeError as error:
        raise _misconfigured(path, f"it is not valid TOML: {error}") from error
    except RecursionError as error:
        raise _misconfigured(path, "it is nested too deeply") from error
    except ValidationError as error:
        raise _misconfigured(path, complaints(error, BookProfile)) from error


def _text(root: Path) -> str:
    try:
        return decode(read_inside(root, PROFILE_FILE.encode(), MAX_PROFILE_BYTES))
    except BadLesson as error:
        raise _misconfigured(root / PROFILE_FILE, error.message) from error


def _misconfigured(path: Path, problem: str) -> Misconfigured:
    return Misconfigured(f"{path}: {problem}", advice=f"Correct {PROFILE_FILE} and run again.")
