"""GET /, GET /widget.js: the chat page, and the script that adds the chat to a book's site."""

from functools import lru_cache
from importlib.resources import files
from typing import Any

from fastapi import APIRouter, Response
from fastapi.responses import HTMLResponse

router = APIRouter(tags=["page"])

#: No scripts from other origins and no inline scripts: text that was not escaped cannot run.
POLICY = (
    "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
CACHED = "public, max-age=300"


class ScriptResponse(Response):
    media_type = "text/javascript"


SCRIPT: dict[int | str, dict[str, Any]] = {
    200: {"description": "JavaScript.", "content": {"text/javascript": {"schema": {"type": "string"}}}}
}


@lru_cache
def _file(name: str) -> bytes:
    return files("bookwise.api").joinpath("web", name).read_bytes()


@router.get("/", response_class=HTMLResponse, summary="The chat page")
async def page() -> HTMLResponse:
    """Returns the chat page. It contains no secret: it asks the reader for a key when one is needed."""
    return HTMLResponse(_file("page.html"), headers={"Content-Security-Policy": POLICY, "Cache-Control": "no-cache"})


@router.get("/widget.js", response_class=ScriptResponse, responses=SCRIPT, summary="The chat for a book's site")
async def widget() -> ScriptResponse:
    """Returns the chat script. Add it to a page of an allowed origin, with `data-key` and `data-book`."""
    return ScriptResponse(
        _file("widget.js"), headers={"Cache-Control": CACHED, "Cross-Origin-Resource-Policy": "cross-origin"}
    )
