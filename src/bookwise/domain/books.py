"""Book, lesson, section, chunk: what ingestion reads and stores."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias

from bookwise.domain.errors import EmbedderMismatch

Vector: TypeAlias = tuple[float, ...]

PROFICIENCY_LEVELS = ("A1", "A2", "B1", "B2", "C1", "C2")
LAYERS = ("L1", "L2", "L3", "L4")
HARDWARE_TIERS = (1, 2, 3, 4)

LessonFormat: TypeAlias = Literal["markdown", "mdx", "rst", "html", "notebook"]
SiteKind: TypeAlias = Literal[
    "docusaurus", "mdbook", "mkdocs", "jupyter-book", "sphinx", "hugo", "quarto", "folder", "document", "site"
]
#: The anchor of a page of a PDF, as viewers understand it: `book.pdf#page=88`.
PAGE_ANCHOR = re.compile(r"page=(\d{1,6})")
BlockKind: TypeAlias = Literal["heading", "text", "list", "code", "table", "math"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Audience:
    """The readers a lesson is written for."""

    hardware_tier: int = 1
    proficiency_level: str = "A2"
    layer: str = "L1"


@dataclass(frozen=True, slots=True, kw_only=True)
class LessonPosition:
    """The position of a lesson in its book: module, chapter number, lesson number."""

    module: str
    chapter: int = 0
    lesson: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LessonFile:
    """A lesson as a file on disk or fetched from a site, not parsed yet."""

    book_id: str
    source_file: str  #: path below the book's root folder, with forward slashes, in Unicode NFC
    file_hash: str  #: SHA-256 of the bytes, with the files that it includes
    format: LessonFormat
    position: LessonPosition
    audience: Audience = Audience()
    numbered: bool = False  #: the position is stated in the book, not counted, and claimed by no other lesson
    title: str | None = None  #: from front matter or navigation; None: the first H1 is used
    url: str = ""  #: address of the published page, without anchor; empty when the book has no base URL
    breadcrumb: tuple[str, ...] = ()  #: labels of the folders or nav entries above the lesson
    site: SiteKind = "folder"  #: decides how heading anchors are built

    @property
    def key(self) -> str:
        """The part of the book that the ids of the lesson and its chunks are derived from (docs/books.md, "Ids")."""
        if not self.numbered:  # counted numbers move when a lesson is inserted; ids must not
            return f"{self.book_id}:{self.source_file}"
        position = self.position
        return f"{self.book_id}:{position.module}:{position.chapter}:{position.lesson}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A paragraph, a list, a code block, a table, …"""

    kind: BlockKind
    text: str  #: as in the source, without markup of the site generator
    language: str = ""  #: of a code block


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """The blocks from one heading to the next."""

    heading_path: tuple[str, ...]  #: titles of the headings above it and its own
    anchor: str = ""  #: URL fragment of its heading; empty before the first heading
    blocks: tuple[Block, ...] = ()  #: starts with the heading, if there is one

    @property
    def title(self) -> str | None:
        return self.heading_path[-1] if self.heading_path else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """A parsed lesson: title and sections in reading order."""

    file: LessonFile
    title: str
    sections: tuple[Section, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Locator:
    """The location of a chunk: everything that the API, the CLI and the page show about it."""

    book_id: str
    module: str
    chapter: int
    lesson: int
    source_file: str
    page_title: str
    url: str = ""  #: page and anchor: opens the page at the heading
    anchor: str = ""
    section_title: str | None = None
    heading_path: tuple[str, ...] = ()
    breadcrumb: tuple[str, ...] = ()

    @property
    def page(self) -> int | None:
        """The page of a PDF, counted from its first page; None for other lessons."""
        match = PAGE_ANCHOR.fullmatch(self.anchor) if ".pdf/" in self.source_file.lower() else None
        return int(match[1]) if match else None

    @property
    def address(self) -> str:
        """The URL; for a book without one, the source file, and the page if that is a PDF."""
        if self.url or self.page is None:
            return self.url or self.source_file
        return f"{self.source_file.rpartition('/')[0]}#{self.anchor}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A part of a lesson; the unit that is stored and searched."""

    id: str
    text: str
    locator: Locator
    audience: Audience
    lesson_id: str  #: `parent_doc_id` on the wire
    revision: str  #: revision of the lesson
    index: int
    total: int
    prev_id: str | None
    next_id: str | None
    content_hash: str
    file_hash: str
    word_count: int
    token_count: int
    char_count: int
    embedding_text: str = field(repr=False, default="")  #: title path and text: the input of the embedder
    version: int = 1
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedChunk:
    """A chunk with its vector."""

    chunk: Chunk
    vector: Vector
    embedding_model: str
    embedded_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """A named part of a book. Readers can also filter by its `aliases`."""

    name: str
    title: str = ""
    aliases: tuple[str, ...] = ()


def names_and_aliases(modules: Iterable[Module]) -> frozenset[str]:
    """Everything that readers can call these modules."""
    return frozenset(name for module in modules for name in (module.name, *module.aliases))


#: The modules of the default book, unless its author lists others.
DEFAULT_MODULES = (
    Module(name="intro", title="Introduction"),
    Module(name="ros2", title="ROS 2"),
    Module(name="gazebo", title="Simulation with Gazebo", aliases=("simulation",)),
    Module(name="isaac", title="NVIDIA Isaac"),
    Module(name="vla", title="Vision-Language-Action"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """A monotone map from match strength to similarity (0–1), linear between knots."""

    knots: tuple[tuple[float, float], ...]

    def similarity(self, strength: float) -> float:
        (x0, y0), *rest = self.knots
        if strength <= x0:
            return y0
        for x1, y1 in rest:
            if strength <= x1:
                return y0 + (y1 - y0) * (strength - x0) / (x1 - x0)
            x0, y0 = x1, y1
        return y0


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedderFacts:
    """Name, fingerprint and scale of an embedder. A book is bound to the fingerprint it was indexed with."""

    name: str  #: the model's public name, for example `text-embedding-3-small`
    fingerprint: str  #: changes whenever the same text could get a different vector
    size: int
    calibration: Calibration
    local: bool = False  #: runs in this process: embedding a sentence takes milliseconds and no network call


@dataclass(frozen=True, slots=True, kw_only=True)
class Book:
    """A book. Searches and access rights never cross its boundary."""

    id: str
    title: str
    base_url: str = ""
    language: str = "en"
    source: str = ""  #: folder or site of the last ingest
    modules: tuple[Module, ...] = ()
    embedder: str = ""  #: fingerprint of the embedder that indexed the book
    embedder_name: str = ""
    embedder_size: int = 0
    calibration: Calibration | None = None  #: fitted on this book; replaces the one of the embedder

    @property
    def module_names(self) -> frozenset[str]:
        """The names and aliases of its modules. Empty when the book lists none."""
        return names_and_aliases(self.modules)

    def module_named(self, name: str) -> str:
        """The module with this name or alias; the name itself when there is none."""
        for module in self.modules:
            if name == module.name or name in module.aliases:
                return module.name
        return name

    def require_embedder(self, facts: EmbedderFacts) -> None:
        """Raises `EmbedderMismatch` unless this embedder indexed the book."""
        if self.embedder and self.embedder != facts.fingerprint:
            raise EmbedderMismatch(
                f"Book {self.id!r} was indexed with {self.embedder_name} ({self.embedder_size} dimensions, "
                f"{self.embedder}), but {facts.name} ({facts.size} dimensions, {facts.fingerprint}) is set.",
                advice="Change BOOKWISE_EMBEDDER back, or run `bookwise ingest PATH --mode recreate`.",
            )
