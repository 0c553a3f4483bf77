"""Public JSON objects of API keys. Only the response to a creation contains a secret."""

from typing import Annotated, Any, Self

from pydantic import Field, StringConstraints

from bookwise.domain.access import RATE_PER_MINUTE, ApiKey, ApiRole
from bookwise.schemas.wire import EXAMPLE_BOOK_ID, EXAMPLE_TIME, Shape, UtcTime, examples

NAME_MAX = 100
RATE_MAX = 100_000
LIST_MAX = 100  #: books and origins of one key

_KEY: dict[str, Any] = {
    "id": "key_0123456789ab",
    "name": "course website",
    "role": "reader",
    "books": [EXAMPLE_BOOK_ID],
    "origins": ["https://book.example"],
    "rate_per_minute": 100,
    "created_at": EXAMPLE_TIME,
    "revoked_at": None,
    "previous_until": None,
    "is_current": False,
}


class KeyReport(Shape):
    """An API key without its secret."""

    model_config = examples(_KEY)

    id: str
    name: str
    role: ApiRole
    books: tuple[str, ...] = Field(description="Empty: all books.")
    origins: tuple[str, ...] = Field(description="Empty: any.")
    rate_per_minute: int
    created_at: UtcTime
    revoked_at: UtcTime | None = None
    previous_until: UtcTime | None = Field(default=None, description="Until then the previous secret works too.")
    is_current: bool = Field(description="The key of this request.")

    @classmethod
    def of(cls, key: ApiKey, *, caller: str) -> Self:
        return cls(
            id=key.id,
            name=key.name,
            role=key.role,
            books=key.books,
            origins=key.origins,
            rate_per_minute=key.rate_per_minute,
            created_at=key.created_at,
            revoked_at=key.revoked_at,
            previous_until=key.previous_until,
            is_current=key.id == caller,
        )


class KeysResponse(Shape):
    """The keys that the caller may manage, oldest first."""

    model_config = examples({"keys": [_KEY]})

    keys: tuple[KeyReport, ...]


class KeyRequest(Shape):
    """The key to create."""

    model_config = examples({"name": "course website", "role": "reader", "books": [EXAMPLE_BOOK_ID]})

    name: Annotated[str, StringConstraints(min_length=1, max_length=NAME_MAX)]
    role: ApiRole = "reader"
    books: Annotated[tuple[str, ...], Field(max_length=LIST_MAX, description="Books it may read. Empty: all.")] = ()
    origins: Annotated[
        tuple[str, ...], Field(max_length=LIST_MAX, description="Sites whose pages may use it. Empty: any.")
    ] = ()
    rate_per_minute: int = Field(default=RATE_PER_MINUTE, ge=1, le=RATE_MAX)


class CreatedKeyResponse(Shape):
    """A new key with its secret, which cannot be read again."""

    model_config = examples({"key": _KEY, "secret": "bw_…", "absent_books": []})

    key: KeyReport
    secret: str
    absent_books: tuple[str, ...] = Field(description="Books of the key that do not exist yet.")
