"""`serve`: runs the HTTP service."""

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
    host: Annotated[str | None, typer.Option(help="Address to listen on (default: BOOKWISE_HOST, 127.0.0.1).")] = None,
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="Port to listen on; 0 picks a free one (default: BOOKWISE_PORT, 8000)."),
    ] = None,
) -> None:
    """Serve the books over HTTP. Includes the chat page, search, ingestion, an OpenAI-compatible API and MCP.

    Without an API key the service only listens on this machine; `bookwise keys create` creates one.
    """
    from bookwise.api import serve as http  # loads FastAPI: 0.5 s

    gc.enable()  # off since the program started
    options: dict[str, Any] = {name: value for name, value in (("host", host), ("port", port)) if value is not None}
    anyio.run(http.serve, replace(settings_of(ctx), **options))
