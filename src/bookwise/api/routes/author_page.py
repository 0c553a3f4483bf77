"""GET /author: the page of the author's view, and its scripts and styles."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response

from bookwise.api.head_route import HeadRoute
from bookwise.api.problems import documented
from bookwise.api.web_files import POLICY, file_response, web_file
from bookwise.domain.errors import NotFound

router = APIRouter(prefix="/author", tags=["page"], route_class=HeadRoute)

HEADERS = {"Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}
PAGE_HEADERS = {"Content-Security-Policy": POLICY, **HEADERS}


def _content(*media_types: str) -> dict[int | str, dict[str, Any]]:
    content = {media_type: {"schema": {"type": "string"}} for media_type in media_types}
    return {
        200: {"description": "The file.", "content": content},
        304: {"description": "The client has the current file (`If-None-Match`)."},
    }


PAGE, ASSET = _content("text/html"), _content("text/javascript", "text/css") | documented(404)
AssetName = Annotated[str, Path(pattern=r"^[a-z_]{1,40}\.(js|css)$", description="File name.")]


@router.get("", response_class=Response, responses=PAGE, summary="The author's view")
async def page(request: Request) -> Response:
    """Returns the page. It contains no data: it asks for an admin key when one is needed."""
    return _file("author.html", request, PAGE_HEADERS)


@router.get("/assets/{name}", response_class=Response, responses=ASSET, summary="A file of the author's view")
async def asset(name: AssetName, request: Request) -> Response:
    """Returns a script or a style sheet of the author's view."""
    return _file(f"author/{name}", request, HEADERS)


def _file(name: str, request: Request, headers: dict[str, str]) -> Response:
    file = web_file(name)
    if file is None:
        raise NotFound(f"There is no file {name}.", advice="Reload the page.")
    return file_response(file, request, headers)
