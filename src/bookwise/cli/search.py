"""`search`, `lesson`, `context`: reading the book."""

import sys
import textwrap
from typing import Annotated

import typer

from bookwise.cli.output import (
    BookOption,
    JsonFlag,
    console,
    execute,
    hand_over,
    print_json,
    printable,
    settings_of,
    with_search,
)
from bookwise.domain.books import Chunk
from bookwise.domain.errors import DataFolderBusy
from bookwise.domain.search import SearchResult
from bookwise.operations.read import ReadContext, ReadLesson, SearchBook

EXCERPT_LINES = 6


def add_to(app: typer.Typer) -> None:
    app.command()(search)
    app.command()(lesson)
    app.command()(context)


def search(  # noqa: PLR0913 - one parameter per filter
    ctx: typer.Context,
    query: Annotated[str, typer.Argument(help="What you want to know, in your own words.")],
    book: BookOption = None,
    limit: Annotated[int, typer.Option(min=1, max=20, help="At most this many hits.")] = 5,
    tier: Annotated[int, typer.Option(min=1, max=4, help="Lessons for this hardware tier or lower.")] = 4,
    module: Annotated[str | None, typer.Option(help="Only this module (name or alias).")] = None,
    chapter_min: Annotated[int | None, typer.Option(min=0, help="From this chapter on.")] = None,
    chapter_max: Annotated[int | None, typer.Option(min=0, help="Up to this chapter.")] = None,
    lesson: Annotated[int | None, typer.Option(min=0, help="Only lessons with this number.")] = None,
    level: Annotated[list[str] | None, typer.Option(help="Proficiency level A1 … C2; repeat for alternatives.")] = None,
    layer: Annotated[str | None, typer.Option(help="Teaching layer L1 … L4.")] = None,
    lesson_id: Annotated[str | None, typer.Option(help="Only the lesson with this id.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Find the passages of the book that fit a question, best first."""
    wanted = SearchBook(
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
        found = with_search(ctx, wanted.run)
    except DataFolderBusy as busy:
        found = hand_over(settings_of(ctx), busy, wanted)
    if as_json:
        from bookwise.schemas.search import SearchResponse

        print_json(SearchResponse.of(found).model_dump(mode="json"))
    else:
        _show(found)


def lesson(
    ctx: typer.Context,
    lesson_id: Annotated[str, typer.Argument(metavar="ID", help="A lesson's id or its source file.")],
    book: BookOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Read a whole lesson, in order."""
    _show_chunks(execute(ctx, ReadLesson(lesson=lesson_id, book=book)), as_json=as_json)


def context(
    ctx: typer.Context,
    chunk_id: Annotated[str, typer.Argument(help="A chunk's id, as `search --json` shows it.")],
    before: Annotated[int, typer.Option(min=0, max=10, help="Chunks before it.")] = 1,
    after: Annotated[int, typer.Option(min=0, max=10, help="Chunks after it.")] = 1,
    book: BookOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Read a chunk together with what stands before and after it in its lesson."""
    wanted = ReadContext(chunk_id=chunk_id, book=book, before=before, after=after)
    _show_chunks(execute(ctx, wanted), as_json=as_json)


def _show(found: SearchResult) -> None:
    write = _styled if sys.stdout.isatty() else _unstyled
    if not found.hits:
        write("Nothing in this book fits these words and filters.")
    for number, hit in enumerate(found.hits, 1):
        where = hit.chunk.locator
        path = " › ".join((where.page_title, *where.heading_path))
        write(f"{number}. {path}  similarity {hit.score:.2f}", style="bold")
        write(where.url or where.source_file, style="cyan", indent=3)
        write(_excerpt(hit.chunk) + "\n", indent=3)
    write(f"{found.timings.total_ms:.1f} ms · {found.total_found} candidates", style="dim")


def _styled(text: str, *, style: str = "", indent: int = 0) -> None:
    from rich.padding import Padding
    from rich.text import Text

    console().print(Padding(Text(printable(text), style=style), (0, 0, 0, indent)))


def _unstyled(text: str, *, style: str = "", indent: int = 0) -> None:
    """What a file or a pipe gets: no colours, no wrapping, and no time spent on loading them."""
    sys.stdout.write(textwrap.indent(printable(text), " " * indent) + "\n")


def _excerpt(chunk: Chunk) -> str:
    lines = [line for line in chunk.text.splitlines() if line.strip() and not line.startswith("#")]
    more = " …" if len(lines) > EXCERPT_LINES else ""
    return "\n".join(lines[:EXCERPT_LINES]) + more


def _show_chunks(chunks: tuple[Chunk, ...], *, as_json: bool) -> None:
    if as_json:
        from bookwise.schemas.books import DocumentChunk

        print_json({"chunks": [DocumentChunk.of(chunk).model_dump(mode="json") for chunk in chunks]})
        return
    from rich.markdown import Markdown
    from rich.rule import Rule

    for chunk in chunks:
        console().print(Rule(f"{chunk.index + 1}/{chunk.total}  {chunk.id}", style="dim"))
        console().print(Markdown(printable(chunk.text)))
