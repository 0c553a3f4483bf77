"""Small makers of domain values for tests."""

from dataclasses import replace
from datetime import UTC, datetime

from bookwise.domain.books import (
    Audience,
    Block,
    Chunk,
    EmbeddedChunk,
    Lesson,
    LessonFile,
    LessonPosition,
    Section,
    Vector,
)
from bookwise.domain.jobs import LessonRecord
from bookwise.ingestion.chunk import ChunkOptions, chunk, lesson_id

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def lesson_file(source_file: str = "loops.md", **facts: object) -> LessonFile:
    plain = LessonFile(
        book_id="book",
        source_file=source_file,
        file_hash="0" * 64,
        format="markdown",
        position=LessonPosition(module="main", chapter=1, lesson=1),
    )
    return replace(plain, **facts)  # type: ignore[arg-type]


def section(title: str, *texts: str | Block, anchor: str = "") -> Section:
    blocks = [text if isinstance(text, Block) else Block(kind="text", text=text) for text in texts]
    heading = [Block(kind="heading", text=f"## {title}")] if title else []
    path = (title,) if title else ()
    return Section(heading_path=path, anchor=anchor or title.lower().replace(" ", "-"), blocks=(*heading, *blocks))


def lesson(*sections: Section, file: LessonFile | None = None, title: str = "Loops") -> Lesson:
    return Lesson(file=file or lesson_file(), title=title, sections=sections)


def chunks_of(made: Lesson, *, revision: str = "r1", options: ChunkOptions | None = None) -> tuple[Chunk, ...]:
    return chunk(made, options or ChunkOptions(), revision=revision, now=NOON)


def chunks(
    name: str, revision: str, *texts: str, book_id: str = "book", audience: Audience | None = None
) -> tuple[Chunk, ...]:
    """A lesson's chunks, one per text."""
    file = lesson_file(f"{name}.md", book_id=book_id, audience=audience or Audience())
    sections = [section(f"Part {number}", text) for number, text in enumerate(texts)]
    return chunks_of(lesson(*sections, file=file, title=name.title()), revision=revision)


def embedded(made: tuple[Chunk, ...], *vectors: Vector) -> list[EmbeddedChunk]:
    return [
        EmbeddedChunk(chunk=c, vector=v, embedding_model="test", embedded_at=NOON)
        for c, v in zip(made, vectors, strict=True)
    ]


def record(name: str, revision: str, made: tuple[Chunk, ...] = (), *, book_id: str = "book") -> LessonRecord:
    file = lesson_file(f"{name}.md", book_id=book_id)
    return LessonRecord(
        book_id=book_id,
        source_file=file.source_file,
        lesson_id=made[0].lesson_id if made else lesson_id(file),
        revision=revision,
        file_hash=file.file_hash,
        position=file.position,
        title=name.title(),
        url="",
        chunk_ids=tuple(c.id for c in made),
        ingested_at=NOON,
    )
