"""Values → their spelling on the wire: times, ids, similarities, texts cut for display."""

import re
from datetime import UTC, datetime
from typing import Annotated, Any, TypeAlias
from uuid import uuid4

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, WithJsonSchema

from bookwise.domain.errors import InvalidInput
from bookwise.domain.threads import checked_thread_id


class Shape(BaseModel):
    """A public object: it never changes, and a field it does not know is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def new_id() -> str:
    return str(uuid4())


def now() -> datetime:
    return datetime.now(UTC)


def iso(moment: datetime) -> str:
    """UTC with milliseconds and a Z: 2025-12-17T14:23:45.123Z."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def shortened(text: str, limit: int) -> str:
    """The text when it fits, else its beginning up to the end of a word, with an ellipsis."""
    if len(text) <= limit:
        return text
    whole_words = re.sub(r"\S+\Z", "", text[:limit]).rstrip()
    return f"{whole_words or text[: limit - 1]}…"


def _session_id(value: Any) -> str:
    try:
        return checked_thread_id(value)
    except InvalidInput as error:
        raise ValueError(error.message) from None


def _in_utc(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError("must say its time zone")
    return moment.astimezone(UTC)


def _timestamp(text: str) -> str:
    return iso(_in_utc(datetime.fromisoformat(text)))


_HEX = "[0-9a-fA-F]"
UUID4 = {"type": "string", "pattern": f"^{_HEX}{{8}}-{_HEX}{{4}}-4{_HEX}{{3}}-[89abAB]{_HEX}{{3}}-{_HEX}{{12}}$"}

SessionId: TypeAlias = Annotated[str, BeforeValidator(_session_id), WithJsonSchema(UUID4)]
UtcTime: TypeAlias = Annotated[datetime, AfterValidator(_in_utc), PlainSerializer(iso, when_used="json")]
Timestamp: TypeAlias = Annotated[str, AfterValidator(_timestamp)]
Similarity: TypeAlias = Annotated[float, Field(ge=0, le=1)]
