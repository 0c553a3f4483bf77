"""The files of the page and the widget, read and compressed once."""

import gzip
import re
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response

CACHED = "public, max-age=300"
MEDIA_TYPES = {"html": "text/html", "js": "text/javascript", "css": "text/css"}
#: No inline script or style, none from other origins, and only the policy `bookwise` (chat/html.js) may insert HTML.
POLICY = (
    "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types bookwise"
)
_COMMENTS_AND_INDENTS = re.compile(rb"^[ \t]*(?:(?://.*|/\*\*(?:[^*]|\*(?!/))*\*/[ \t]*)\n)?", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class WebFile:
    """A file as it is sent."""

    body: bytes
    compressed: bytes
    etag: str
    media_type: str


@lru_cache
def web_file(name: str) -> WebFile | None:
    """The file with this name below `api/web`; None if there is none. The caller limits the names."""
    path = files("bookwise.api").joinpath("web", *name.split("/"))
    media_type = MEDIA_TYPES.get(name.rpartition(".")[2])
    if media_type is None or not path.is_file():
        return None
    body = path.read_bytes()
    if media_type == "text/javascript":
        body = _shortened(body)
    return WebFile(body, gzip.compress(body, mtime=0), f'"{sha256(body).hexdigest()[:20]}"', media_type)


def _shortened(script: bytes) -> bytes:
    """The script without indents and the lines that are comments, a seventh of its compressed size. Comments after code
    stay."""
    return _COMMENTS_AND_INDENTS.sub(b"", script)


def not_found_page(path: str) -> Response:
    """The page for a browser that opens an unknown address. Its links are relative: a proxy may add a prefix."""
    file = web_file("not_found.html")
    assert file is not None, "it is part of the package"
    home = "../" * (path.count("/") - 1) or "./"
    headers = {"Cache-Control": "no-store", "Content-Security-Policy": POLICY, "Vary": "Accept"}
    return Response(file.body.replace(b"{home}", home.encode()), 404, headers, file.media_type)


def file_response(file: WebFile, request: Request, headers: dict[str, str]) -> Response:
    """The file, compressed if the client accepts that; 304 if the client has it."""
    shared = {"ETag": file.etag, "Vary": "Accept-Encoding", **headers}
    if file.etag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=shared)
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(file.compressed, headers={"Content-Encoding": "gzip", **shared}, media_type=file.media_type)
    return Response(file.body, headers=shared, media_type=file.media_type)
