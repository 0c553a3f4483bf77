"""A request → its caller. A route names what it needs: `Reader`, or `Admin`."""

from typing import Annotated

from fastapi import Depends, Request

from bookwise.api.service import service_of
from bookwise.domain.access import ANYONE, Caller
from bookwise.domain.errors import Forbidden, NotFound, Unauthenticated

BEARER = "bearer "


async def caller_of(request: Request) -> Caller:
    """Who asks; `Unauthenticated` without a key that works. A service that is open asks for none, and takes no offence
    at one: clients of other services always send something."""
    service = service_of(request)
    if service.open_to_anyone:
        return ANYONE
    header = request.headers.get("authorization", "")
    if not header.lower().startswith(BEARER):
        raise Unauthenticated("This needs an API key.", advice="Send it as `Authorization: Bearer KEY`.")
    key = await service.keys.key(header[len(BEARER) :].strip())
    if key is None or not _comes_from(request, key.origins):
        raise Unauthenticated("This API key does not work.", advice="`bookwise keys list` shows the keys that do.")
    return Caller(
        owner=key.id,
        role=key.role,
        books=key.books,
        rate_per_minute=key.rate_per_minute,
        streams_at_once=key.streams_at_once,
    )


def _comes_from(request: Request, origins: tuple[str, ...]) -> bool:
    return not origins or request.headers.get("origin", "") in origins


async def admin_of(caller: Annotated[Caller, Depends(caller_of)]) -> Caller:
    if caller.role != "admin":
        raise Forbidden("This needs a key with the role admin.", advice="Ask the operator for one.")
    return caller


Reader = Annotated[Caller, Depends(caller_of)]
Admin = Annotated[Caller, Depends(admin_of)]


def require_book(caller: Caller, book_id: str) -> None:
    """A book the caller may not see does not exist for them."""
    if not caller.may_see(book_id):
        raise NotFound(f"There is no book {book_id!r}.", advice="Ingest it first, or name one that is listed.")
