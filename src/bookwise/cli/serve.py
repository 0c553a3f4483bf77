"""`serve`: the data folder as an HTTP service, until it is told to stop."""

import gc
from dataclasses import replace
from typing import Annotated, Any

import anyio
import typer

from bookwise.cli.output import settings_of


def add_to(app: typer.Typer) -> None:
    app.command()(serve)


def serve(
    ctx: typer.Context,
    host: Annotated[str | None, typer.Option(help="Address to listen on (default: this machine only).")] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="Port to listen on; 0: a free one.")] = None,
) -> None:
    """Serve the books over HTTP: questions, search, ingestion, OpenAI-compatible chat, MCP."""
    from bookwise.api import serve as http  # half a second of imports that `bookwise --help` need not pay

    gc.enable()  # off since the start of the program
    given: dict[str, Any] = {name: value for name, value in (("host", host), ("port", port)) if value is not None}
    anyio.run(http.serve, replace(settings_of(ctx), **given))
