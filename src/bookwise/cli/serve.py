"""`serve` and `mcp`: the books over HTTP, and to an AI assistant over stdin and stdout."""

import gc
from dataclasses import replace
from typing import Annotated, Any

import anyio
import typer

from bookwise.cli.output import settings_of


def add_to(app: typer.Typer) -> None:
    app.command()(serve)
    app.command()(mcp)


def serve(
    ctx: typer.Context,
    path: Annotated[
        str | None,
        typer.Argument(metavar="[PATH]", help="Book to ingest first: a folder, or the https:// address of a site."),
    ] = None,
    book: Annotated[
        str | None,
        typer.Option("--book", metavar="ID", help="Id of the book at PATH (default: from bookwise.toml or its name)."),
    ] = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on (default: BOOKWISE_HOST, 127.0.0.1).")] = None,
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="Port to listen on; 0 picks a free one (default: BOOKWISE_PORT, 8000)."),
    ] = None,
) -> None:
    """Serve the books over HTTP. Includes the chat page, search, ingestion, an OpenAI-compatible API and MCP.

    With PATH, the book is ingested first; lessons that did not change are skipped. Without an API key the service only
    listens on this machine; `bookwise keys create` creates one.
    """
    if path is not None:
        from bookwise.cli.ingest import ingest_once  # loads the parsers: 0.3 s

        ingest_once(ctx, path, book)  # lessons that cannot be read are reported; the others are served
    from bookwise.api import serve as http  # loads FastAPI: 0.5 s

    gc.enable()  # off since the program started
    options: dict[str, Any] = {name: value for name, value in (("host", host), ("port", port)) if value is not None}
    anyio.run(http.serve, replace(settings_of(ctx), **options))


def mcp(ctx: typer.Context) -> None:
    """Serve the books to an AI assistant over MCP. It gets the tools search, fetch and ask on stdin and stdout.

    The data folder is locked only while a tool runs, so assistants and `bookwise ingest` can share it.
    """
    from bookwise.api.mcp_stdio import serve_stdio  # loads the MCP SDK and FastAPI: 1.2 s

    gc.enable()  # off since the program started; this process is long-lived
    anyio.run(serve_stdio, settings_of(ctx))
