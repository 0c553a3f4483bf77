"""GET and POST /keys, DELETE /keys/{key_id}: list, create and revoke API keys."""

from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from bookwise.api.auth.access import Admin
from bookwise.api.problems import documented
from bookwise.api.state import state_of
from bookwise.api.strict_json import StrictRoute
from bookwise.domain.access import ApiKey, Caller
from bookwise.domain.errors import Forbidden, NotFound
from bookwise.operations.keys import CreateKey, ListKeys, RevokeKey
from bookwise.schemas.keys import CreatedKeyResponse, KeyReport, KeyRequest, KeysResponse

router = APIRouter(prefix="/keys", tags=["keys"], route_class=StrictRoute)

KeyId = Annotated[str, Path(max_length=100, description="Key id, from the list of keys.")]


@router.get("", summary="List the keys")
async def keys(request: Request, caller: Admin) -> KeysResponse:
    """Returns the keys without their secrets, including revoked ones. A key for some books sees only keys for these."""
    _require_private(caller)
    found = await ListKeys().run(state_of(request).app.records)
    return KeysResponse(keys=tuple(KeyReport.of(key, caller=caller.owner) for key in found if _may_manage(caller, key)))


@router.post("", status_code=201, summary="Create a key", responses=documented(507))
async def create(body: KeyRequest, caller: Admin, request: Request, response: Response) -> CreatedKeyResponse:
    """Creates a key and returns its secret, which cannot be read again. A key for some books can only create keys for
    these. On a service without keys, every request needs a key from now on."""
    _require_private(caller)
    _require_own_books(caller, body.books)
    state = state_of(request)
    created = await CreateKey(
        name=body.name, role=body.role, books=body.books, origins=body.origins, rate_per_minute=body.rate_per_minute
    ).run(state.app.records)
    await state.check_keys()
    response.headers["Cache-Control"] = "no-store"
    return CreatedKeyResponse(
        key=KeyReport.of(created.key, caller=caller.owner), secret=created.secret, absent_books=created.absent
    )


@router.delete("/{key_id}", status_code=204, summary="Revoke a key", responses=documented(404, 507))
async def revoke(key_id: KeyId, caller: Admin, request: Request) -> None:
    """Revokes a key. It stops working immediately and cannot be restored."""
    _require_private(caller)
    state = state_of(request)
    if key_id not in {key.id for key in await state.keys.keys() if _may_manage(caller, key)}:
        raise NotFound(f"There is no key {key_id!r}.", advice="GET /keys lists the keys and their ids.")
    await RevokeKey(key_id=key_id).run(state.app.records)
    await state.check_keys()


def _may_manage(caller: Caller, key: ApiKey) -> bool:
    """Whether the caller may see everything that the key may see."""
    return not caller.books or (bool(key.books) and set(key.books) <= set(caller.books))


def _require_own_books(caller: Caller, books: tuple[str, ...]) -> None:
    if caller.books and not (books and set(books) <= set(caller.books)):
        raise Forbidden(
            "Your key can only create keys for its own books.", advice=f"Name some of: {', '.join(caller.books)}."
        )


def _require_private(caller: Caller) -> None:
    """A key with origins is published in a page: it must not be able to make keys without these limits."""
    if caller.address:
        raise Forbidden("A key with origins cannot manage keys.", advice="Use an admin key without origins.")
