"""GET /, /read/{lesson}, /widget.js and their modules: the chat page, the lesson page, and the chat for other sites."""

from typing import Annotated, Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Path, Request, Response
from fastapi.routing import APIRoute
from starlette.datastructures import Headers
from starlette.routing import Match
from starlette.types import Scope

from bookwise.api.head_route import HeadRoute
from bookwise.api.web_files import CACHED, POLICY, file_response, web_file
from bookwise.domain.errors import NotFound

router = APIRouter(tags=["page"], route_class=HeadRoute)


class BrowserRoute(APIRoute):
    """A route for requests that accept HTML: a browser that opens an address. Programs get the route after it."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        accepts_html = "text/html" in Headers(scope=scope).get("accept", "") if scope["type"] == "http" else False
        return super().matches(scope) if accepts_html else (Match.NONE, {})


browser_router = APIRouter(route_class=BrowserRoute)  #: before the routes with the same paths

#: What other sites may load: the widget and the modules of the chat hold no secret.
SHARED = {"Cache-Control": CACHED, "Access-Control-Allow-Origin": "*", "Cross-Origin-Resource-Policy": "cross-origin"}
OWN = {"Cache-Control": "no-cache", "Content-Security-Policy": POLICY, "X-Content-Type-Options": "nosniff"}

Name = Annotated[str, Path(pattern=r"^[a-z]{1,30}$", description="Name of the module.")]


def _content(media_type: str) -> dict[int | str, dict[str, Any]]:
    return {
        200: {"description": "The file.", "content": {media_type: {"schema": {"type": "string"}}}},
        304: {"description": "The client has the current file (`If-None-Match`)."},
    }


PAGE, SCRIPT = _content("text/html"), _content("text/javascript")
#: What the page and the widget load themselves. No caller needs it, so the API's document leaves it out.
PART: dict[str, Any] = {"response_class": Response, "include_in_schema": False}


@router.get("/", response_class=Response, responses=PAGE, summary="The chat page")
async def page(request: Request) -> Response:
    """Returns the chat page. It contains no secret: it asks the reader for a key when one is needed."""
    return _file("page.html", request, OWN)


@router.get("/read/{parent_doc_id}", **PART)
async def lesson_page(parent_doc_id: str, request: Request) -> Response:
    """Returns the page that shows a lesson. It reads the text from `/lesson/{parent_doc_id}`, with the reader's key."""
    return _file("lesson.html", request, OWN)


@browser_router.get("/lesson/{parent_doc_id}", **PART)
async def open_lesson(parent_doc_id: str, request: Request) -> Response:
    """Leads a browser from the address of the data to the page that shows it. `book_id` and `quote` are kept."""
    kept = {"book": request.query_params.get("book_id"), "quote": request.query_params.get("quote")}
    query = urlencode({name: value for name, value in kept.items() if value})
    target = f"../read/{quote(parent_doc_id, safe='')}" + (f"?{query}" if query else "")  # a proxy may add a prefix
    return Response(status_code=303, headers={"Location": target, "Vary": "Accept", "Cache-Control": "no-store"})


@router.get("/widget.js", response_class=Response, responses=SCRIPT, summary="The chat for a book's site")
async def widget(request: Request) -> Response:
    """Returns the chat script. Add it to a page of an allowed origin, with `data-key` and `data-book`."""
    return _file("widget.js", request, SHARED)


@router.get("/page.js", **PART)
async def page_script(request: Request) -> Response:
    return _file("page.js", request, SHARED)


@router.get("/lesson.js", **PART)
async def lesson_script(request: Request) -> Response:
    return _file("lesson.js", request, SHARED)


@router.get("/page.css", **PART)
async def page_style(request: Request) -> Response:
    return _file("page.css", request, SHARED)


@router.get("/chat/{name}.js", **PART)
async def chat_module(name: Name, request: Request) -> Response:
    """Returns a module of the chat that page and widget share."""
    return _file(f"chat/{name}.js", request, SHARED)


@router.get("/widget/{name}.js", **PART)
async def widget_module(name: Name, request: Request) -> Response:
    """Returns a module that `widget.js` loads when a reader is about to use the chat."""
    return _file(f"widget/{name}.js", request, SHARED)


def _file(name: str, request: Request, headers: dict[str, str]) -> Response:
    file = web_file(name)
    if file is None:
        raise NotFound(f"There is no file {name}.")
    return file_response(file, request, headers)
