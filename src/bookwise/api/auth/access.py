"""A request → its caller. A route names what it needs: `Reader`, `Admin` or `Operator`."""

from dataclasses import dataclass
from secrets import compare_digest
from typing import Annotated

from fastapi import Depends, Request
from starlette.requests import HTTPConnection

from bookwise.api.auth.auth_throttle import network
from bookwise.api.state import ServiceState, state_of
from bookwise.domain.access import ANYONE, Caller
from bookwise.domain.books import Book
from bookwise.domain.errors import Forbidden, NotFound, Unauthenticated, Unavailable
from bookwise.domain.search import Live
from bookwise.ports import CatalogReader

BEARER = "bearer "


async def caller_of(request: Request) -> Caller:
    """Who asks; `Unauthenticated` without a key that works. A service that is open asks for none, and takes no offence
    at one: clients of other services always send something."""
    service = state_of(request)
    if service.open_to_anyone:
        return ANYONE
    secret = _secret_in(request)
    if secret is None:
        raise Unauthenticated("This needs an API key.", advice="Send it as `Authorization: Bearer KEY`.")
    caller = await _known(secret, request, service)
    if caller is None:
        raise service.strangers.refusal(_address_of(request))
    return caller


async def still_welcome(connection: HTTPConnection, service: ServiceState) -> bool:
    """Whether the key of a request that is still being answered works. A database that does not answer for a moment
    says nothing about that."""
    secret = None if service.open_to_anyone else _secret_in(connection)
    if secret is None:
        return True
    try:
        return await _known(secret, connection, service) is not None
    except Unavailable:
        return True


def _secret_in(connection: HTTPConnection) -> str | None:
    header = connection.headers.get("authorization", "")
    return header[len(BEARER) :].strip() if header.lower().startswith(BEARER) else None


async def _known(secret: str, connection: HTTPConnection, service: ServiceState) -> Caller | None:
    """Whose secret this is, if it works from where the request comes from."""
    if _is_operators(secret, service):
        return ANYONE
    if service.strangers.is_known(secret):
        return None
    key = await service.keys.key(secret)
    if key is None:
        service.strangers.remember(secret)
        return None
    if key.origins and connection.headers.get("origin", "") not in key.origins:
        return None
    return Caller(
        owner=key.id,
        role=key.role,
        books=key.books,
        rate_per_minute=key.rate_per_minute,
        streams_at_once=key.streams_at_once,
        address=_address_of(connection) if key.origins else "",
    )


def _address_of(connection: HTTPConnection) -> str:
    """Where the connection comes from. What headers say about that, anyone can write into them."""
    return network(connection.client.host) if connection.client else ""


def _is_operators(secret: str, service: ServiceState) -> bool:
    return compare_digest(secret.encode(), service.operator_secret.encode())


async def operator_of(request: Request, caller: Annotated[Caller, Depends(caller_of)]) -> Caller:
    """Whoever can read the data folder on this machine, and no API key."""
    if not _is_operators(_secret_in(request) or "", state_of(request)):
        raise Forbidden("This is for the commands on the machine of the service.", advice="Run `bookwise` there.")
    return caller


async def admin_of(caller: Annotated[Caller, Depends(caller_of)]) -> Caller:
    if caller.role != "admin":
        raise Forbidden("This needs a key with the role admin.", advice="Ask the operator for one.")
    return caller


Reader = Annotated[Caller, Depends(caller_of)]
Admin = Annotated[Caller, Depends(admin_of)]
Operator = Annotated[Caller, Depends(operator_of)]


def require_book(caller: Caller, book_id: str) -> None:
    """A book the caller may not see does not exist for them."""
    if not caller.may_see(book_id):
        raise NotFound(f"There is no book {book_id!r}.", advice="Ingest it first, or name one that is listed.")


@dataclass(frozen=True, slots=True)
class VisibleBooks:
    """The books of a shelf that one caller may see; the others do not exist for them."""

    shelf: CatalogReader
    caller: Caller

    async def books(self) -> list[Book]:
        return [book for book in await self.shelf.books() if self.caller.may_see(book.id)]

    async def book(self, book_id: str) -> Book:
        require_book(self.caller, book_id)
        return await self.shelf.book(book_id)

    async def live(self, book_id: str) -> Live:
        require_book(self.caller, book_id)
        return await self.shelf.live(book_id)
