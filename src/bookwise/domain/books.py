"""Book, lesson, section, chunk: what road one turns a folder into."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias

from bookwise.domain.errors import EmbedderMismatch

Vector: TypeAlias = tuple[float, ...]

PROFICIENCY_LEVELS = ("A1", "A2", "B1", "B2", "C1", "C2")
LAYERS = ("L1", "L2", "L3", "L4")
HARDWARE_TIERS = (1, 2, 3, 4)

LessonFormat: TypeAlias = Literal["markdown", "mdx", "rst", "html", "notebook"]
SiteKind: TypeAlias = Literal["docusaurus", "mdbook", "mkdocs", "jupyter-book", "sphinx", "folder", "site"]
BlockKind: TypeAlias = Literal["heading", "text", "list", "code", "table", "math"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Audience:
    """For whom a lesson is meant."""

    hardware_tier: int = 1
    proficiency_level: str = "A2"
    layer: str = "L1"


@dataclass(frozen=True, slots=True, kw_only=True)
class LessonPosition:
    """Where a lesson stands in its book: module, chapter number, lesson number."""

    module: str
    chapter: int = 0
    lesson: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LessonFile:
    """A lesson as bytes on disk (or fetched from a site), not yet understood."""

    book_id: str
    source_file: str  #: relative to the book's root, with forward slashes, Unicode NFC
    file_hash: str  #: SHA-256 of the bytes
    format: LessonFormat
    position: LessonPosition
    audience: Audience = Audience()
    numbered: bool = False  #: the place was given, not made up, and no other lesson of the book claims it
    title: str | None = None  #: from front matter or navigation; the first H1 otherwise
    url: str = ""  #: the published page, without anchor; empty when the book has no base URL
    breadcrumb: tuple[str, ...] = ()  #: labels of the folders or nav entries above the lesson
    site: SiteKind = "folder"  #: decides how heading anchors are made

    @property
    def key(self) -> str:
        """What the ids of the lesson and of its chunks are derived from (docs/books.md, "Ids")."""
        if not self.numbered:  # counted numbers move when a lesson is inserted; ids must not
            return f"{self.book_id}:{self.source_file}"
        position = self.position
        return f"{self.book_id}:{position.module}:{position.chapter}:{position.lesson}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """The smallest thing a chunk is made of: a paragraph, a list, a code block, a table."""

    kind: BlockKind
    text: str  #: as in the source, without the markup of the site generator around it
    language: str = ""  #: of a code block


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """What stands between one heading and the next."""

    heading_path: tuple[str, ...]  #: titles from the lesson's own headings down to this one
    anchor: str = ""  #: fragment of the published page; empty before the first heading
    blocks: tuple[Block, ...] = ()  #: begins with the heading's own block when there is one

    @property
    def title(self) -> str | None:
        return self.heading_path[-1] if self.heading_path else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """A lesson understood: title and sections in reading order."""

    file: LessonFile
    title: str
    sections: tuple[Section, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Locator:
    """Where a chunk's text sits: one record that holds the names of all faces."""

    book_id: str
    module: str
    chapter: int
    lesson: int
    source_file: str
    page_title: str
    url: str = ""  #: page and anchor: opens the exact heading
    anchor: str = ""
    section_title: str | None = None
    heading_path: tuple[str, ...] = ()
    breadcrumb: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """What is stored and scored."""

    id: str
    text: str
    locator: Locator
    audience: Audience
    lesson_id: str  #: `parent_doc_id` on the wire
    revision: str  #: of the lesson this chunk belongs to
    index: int
    total: int
    prev_id: str | None
    next_id: str | None
    content_hash: str
    file_hash: str
    word_count: int
    token_count: int
    char_count: int
    embedding_text: str = field(repr=False, default="")  #: title path and text, as given to the embedder
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
    """A named part of a book; `aliases` are other names readers may filter by."""

    name: str
    title: str = ""
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """A monotone map from match strength to similarity in 0–1: straight lines between knots."""

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
    """What binds a book to an embedder."""

    name: str  #: the model's public name, for example `text-embedding-3-small`
    fingerprint: str  #: changes whenever the same text could get another vector
    size: int
    calibration: Calibration
    local: bool = False  #: runs in this process: embedding one more sentence costs milliseconds, not a call


@dataclass(frozen=True, slots=True, kw_only=True)
class Book:
    """One work: the unit of filtering and of isolation."""

    id: str
    title: str
    base_url: str = ""
    language: str = "en"
    source: str = ""  #: folder or site it was last ingested from
    modules: tuple[Module, ...] = ()
    embedder: str = ""  #: fingerprint the book is bound to
    embedder_name: str = ""
    embedder_size: int = 0
    calibration: Calibration | None = None  #: fitted on this book; overrides the embedder's own

    def module_named(self, name: str) -> str:
        """The module's own name for a name or alias; the name itself when the book lists none."""
        for module in self.modules:
            if name == module.name or name in module.aliases:
                return module.name
        return name

    def require_embedder(self, facts: EmbedderFacts) -> None:
        """A book can only be searched and updated with the embedder that indexed it."""
        if self.embedder and self.embedder != facts.fingerprint:
            raise EmbedderMismatch(
                f"Book {self.id!r} was indexed with {self.embedder_name} ({self.embedder_size} dimensions, "
                f"{self.embedder}), but {facts.name} ({facts.size} dimensions, {facts.fingerprint}) is set.",
                advice="Set BOOKWISE_EMBEDDER back, or index anew with `bookwise ingest PATH --mode recreate`.",
            )
