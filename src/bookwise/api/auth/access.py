"""A request → its caller. A route declares which role it needs: `Reader`, `Admin` or `Operator`."""

from dataclasses import dataclass
from secrets import compare_digest
from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPBearer
from starlette.requests import HTTPConnection

from bookwise.api.auth.auth_throttle import network
from bookwise.api.state import ServiceState, state_of
from bookwise.domain.access import ANYONE, Caller
from bookwise.domain.books import Book
from bookwise.domain.errors import (
    Denied,
    Forbidden,
    ForbiddenOrigin,
    Misconfigured,
    NotFound,
    StoreUnavailable,
    Unauthenticated,
    Unavailable,
)
from bookwise.domain.search import Live
from bookwise.ports import CatalogReader

BEARER = "bearer "


#: Only documents the key in /openapi.json: `caller_of` reads the header itself, to report problems in our format.
KEY_SCHEME = HTTPBearer(scheme_name="key", description="Created with `bookwise keys create`.", auto_error=False)


async def caller_of(request: Request, _: Annotated[object, Depends(KEY_SCHEME)] = None) -> Caller:
    """The caller of a request. Raises `Unauthenticated` unless the request has a valid key, and `ForbiddenOrigin` for a
    key that is bound to other sites.

    An open service needs no key and ignores one: clients of OpenAI's API always send something.
    """
    caller: Caller | None = getattr(request.state, "caller", None)  # known, if the route had to check before parsing
    if caller is None:
        request.state.caller = caller = await _authenticate(request)
    return caller


async def _authenticate(request: Request) -> Caller:
    state = state_of(request)
    if state.open_to_anyone:
        return ANYONE
    secret = _secret_in(request)
    if secret is None:
        raise Unauthenticated("This request needs an API key.", advice="Send it as `Authorization: Bearer KEY`.")
    try:
        return await _caller_with(secret, request, state)
    except Denied as error:
        raise state.auth_throttle.refusal(_address_of(request), error) from None


async def is_still_authorized(connection: HTTPConnection, state: ServiceState) -> bool:
    """Whether the key of a running request is still valid. True when the database cannot be read at the moment."""
    secret = None if state.open_to_anyone else _secret_in(connection)
    if secret is None:
        return True
    try:
        await _caller_with(secret, connection, state)
    except Denied:
        return False
    except Unavailable:
        return True
    return True


def _secret_in(connection: HTTPConnection) -> str | None:
    header = connection.headers.get("authorization", "")
    return header[len(BEARER) :].strip() if header.lower().startswith(BEARER) else None


async def _caller_with(secret: str, connection: HTTPConnection, state: ServiceState) -> Caller:
    """The caller with this secret. Raises `Denied` when it is not valid, or not from the origin of this request."""
    if _is_operator_secret(secret, state):
        return ANYONE
    if state.auth_throttle.has_failed(secret):
        raise _invalid_key()
    try:
        key = await state.keys.key(secret)
    except Misconfigured as error:  # the caller may be right, and may try again when the operator has acted
        raise StoreUnavailable(error.message, advice=error.advice) from error
    if key is None:
        state.auth_throttle.remember(secret)
        raise _invalid_key()
    if key.origins and connection.headers.get("origin", "") not in key.origins:
        raise ForbiddenOrigin(
            "This site may not use this API key.",
            advice="Use the key that was created for this site: `bookwise keys list` shows the origins of each key.",
        )
    return Caller(
        owner=key.id,
        role=key.role,
        books=key.books,
        rate_per_minute=key.rate_per_minute,
        streams_at_once=key.streams_at_once,
        address=_address_of(connection) if key.origins else "",
    )


def _invalid_key() -> Unauthenticated:
    return Unauthenticated("This API key is not valid.", advice="`bookwise keys list` shows the valid keys.")


def _address_of(connection: HTTPConnection) -> str:
    """The network address of the client. Headers are ignored: any client can forge them."""
    return network(connection.client.host) if connection.client else ""


def _is_operator_secret(secret: str, state: ServiceState) -> bool:
    return compare_digest(secret.encode(), state.operator_secret.encode())


async def operator_of(request: Request, caller: Annotated[Caller, Depends(caller_of)]) -> Caller:
    """The owner of the data folder, who knows the secret of this process. No API key is enough."""
    if not _is_operator_secret(_secret_in(request) or "", state_of(request)):
        raise Forbidden(
            "Only commands on the machine of the service may do this.", advice="Run `bookwise` on that machine."
        )
    return caller


async def admin_of(caller: Annotated[Caller, Depends(caller_of)]) -> Caller:
    if caller.role != "admin":
        raise Forbidden("This request needs a key with the role admin.", advice="Ask the operator for one.")
    return caller


Reader = Annotated[Caller, Depends(caller_of)]
Admin = Annotated[Caller, Depends(admin_of)]
Operator = Annotated[Caller, Depends(operator_of)]


def require_book(caller: Caller, book_id: str) -> None:
    """Raises `NotFound` for a book that the caller may not see, as if it did not exist."""
    if not caller.may_see(book_id):
        raise NotFound(f"There is no book {book_id!r}.", advice="Ingest it first, or name one that is listed.")


@dataclass(frozen=True, slots=True)
class VisibleBooks:
    """A catalog reduced to the books that one caller may see."""

    catalog: CatalogReader
    caller: Caller

    async def books(self) -> list[Book]:
        return [book for book in await self.catalog.books() if self.caller.may_see(book.id)]

    async def book(self, book_id: str) -> Book:
        require_book(self.caller, book_id)
        return await self.catalog.book(book_id)

    async def books_with_chunk(self, chunk_id: str) -> list[str]:
        return [book_id for book_id in await self.catalog.books_with_chunk(chunk_id) if self.caller.may_see(book_id)]

    async def live(self, book_id: str) -> Live:
        require_book(self.caller, book_id)
        return await self.catalog.live(book_id)
