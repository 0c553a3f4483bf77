"""`search`, `lesson` and `context`: find passages and read around them."""

import sys
import textwrap
from typing import Annotated, Protocol

import typer

from bookwise.cli.output import (
    ALL_TIERS,
    BookOption,
    JsonFlag,
    TierOption,
    execute,
    print_json,
    printable,
    settings_of,
    with_search,
)
from bookwise.domain.books import Chunk
from bookwise.domain.errors import DataFolderBusy
from bookwise.domain.search import SearchResult
from bookwise.operations.handover import hand_over
from bookwise.operations.read import ReadContext, ReadLesson, SearchBook

EXCERPT_LINES = 6


class WriteText(Protocol):
    """Writes a text to standard output."""

    def __call__(self, text: str, *, style: str = "", indent: int = 0) -> None: ...


def add_to(app: typer.Typer) -> None:
    app.command()(search)
    app.command()(lesson)
    app.command()(context)


def search(  # noqa: PLR0913 - one parameter per filter
    ctx: typer.Context,
    query: Annotated[str, typer.Argument(help="What you want to know, in your own words (3 characters or more).")],
    book: BookOption = None,
    limit: Annotated[int, typer.Option(min=1, max=20, help="Maximum number of passages.")] = 5,
    tier: TierOption = ALL_TIERS,
    module: Annotated[str | None, typer.Option(help="Only this module, by name or alias.")] = None,
    chapter_min: Annotated[int | None, typer.Option(min=0, help="First chapter.")] = None,
    chapter_max: Annotated[int | None, typer.Option(min=0, help="Last chapter.")] = None,
    lesson: Annotated[int | None, typer.Option(min=0, help="Only lessons with this number.")] = None,
    level: Annotated[
        list[str] | None, typer.Option(help="Proficiency level, A1 to C2; repeat to allow several.")
    ] = None,
    layer: Annotated[str | None, typer.Option(help="Teaching layer, L1 to L4.")] = None,
    lesson_id: Annotated[str | None, typer.Option(metavar="ID", help="Only the lesson with this id.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Find the passages of a book that match a question, best first."""
    requested = SearchBook(
        text=query,
        book=book,
        limit=limit,
        tier=tier,
        module=module,
        chapter_min=chapter_min,
        chapter_max=chapter_max,
        lesson=lesson,
        levels=tuple(level or ()),
        layer=layer,
        lesson_id=lesson_id,
    )
    try:
        result = with_search(ctx, requested.run)
    except DataFolderBusy as busy:
        result = hand_over(settings_of(ctx), busy, requested)
    if as_json:
        from bookwise.schemas.search import SearchResponse  # loads pydantic models: 0.2 s

        print_json(SearchResponse.of(result).model_dump(mode="json"))
    else:
        _show(result)


def lesson(
    ctx: typer.Context,
    lesson_id: Annotated[str, typer.Argument(metavar="ID", help="Lesson id or source file.")],
    book: BookOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Print a whole lesson."""
    _show_chunks(execute(ctx, ReadLesson(lesson=lesson_id, book=book)), as_json=as_json)


def context(
    ctx: typer.Context,
    chunk_id: Annotated[str, typer.Argument(metavar="ID", help="Chunk id, as shown by `search --json`.")],
    before: Annotated[int, typer.Option(min=0, max=10, help="Number of chunks before it.")] = 1,
    after: Annotated[int, typer.Option(min=0, max=10, help="Number of chunks after it.")] = 1,
    book: BookOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Print a chunk with its neighbours in the lesson."""
    requested = ReadContext(chunk_id=chunk_id, book=book, before=before, after=after)
    _show_chunks(execute(ctx, requested), as_json=as_json)


def _show(result: SearchResult) -> None:
    write = _writer()
    if not result.hits:
        write("No passage of this book matches the question and the filters. Try other words or fewer filters.")
    for number, hit in enumerate(result.hits, 1):
        where = hit.chunk.locator
        path = " › ".join((where.page_title, *where.heading_path))
        page = "" if where.page is None else f", page {where.page}"
        write(f"{number}. {path}{page}  similarity {hit.score:.2f}", style="bold")
        write(where.address, style="cyan", indent=3)
        write(_excerpt(hit.chunk) + "\n", indent=3)
    for note in result.notes:
        write(note, style="dim")
    write(f"{result.timings.total_ms:.1f} ms · {result.candidates} candidates", style="dim")


def _writer() -> WriteText:
    if not sys.stdout.isatty():
        return _write_plain
    from bookwise.cli.styled_text import write_styled  # loads rich: 0.05 s

    return write_styled


def _write_plain(text: str, *, style: str = "", indent: int = 0) -> None:
    """For files and pipes: no colours, no wrapping, and rich is not loaded."""
    sys.stdout.write(textwrap.indent(printable(text), " " * indent) + "\n")


def _excerpt(chunk: Chunk) -> str:
    lines = [line for line in chunk.text.splitlines() if line.strip() and not line.startswith("#")]
    more = " …" if len(lines) > EXCERPT_LINES else ""
    return "\n".join(lines[:EXCERPT_LINES]) + more


def _show_chunks(chunks: tuple[Chunk, ...], *, as_json: bool) -> None:
    if as_json:
        from bookwise.schemas.books import DocumentChunk  # loads pydantic models: 0.2 s

        print_json({"chunks": [DocumentChunk.of(chunk).model_dump(mode="json") for chunk in chunks]})
        return
    from bookwise.cli.chunk_view import write_chunks  # loads rich: 0.05 s

    write_chunks(chunks)
