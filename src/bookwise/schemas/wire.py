"""Field types of the public JSON objects: times, ids, similarities; and how an object carries its examples."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, TypeAlias
from uuid import uuid4

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, WithJsonSchema

from bookwise.domain.errors import InvalidInput
from bookwise.domain.threads import checked_thread_id

EXAMPLE_TIME = "2026-03-29T12:00:00.123Z"
EXAMPLE_BOOK_ID = "physical-ai-robotics"
EXAMPLE_SESSION_ID = "550e8400-e29b-41d4-a716-446655440000"
EXAMPLE_ANSWER_ID = "7d1c2a34-0b5e-4f6a-9c8d-1e2f3a4b5c6d"
EXAMPLE_LESSON_ID = "0f4c1c59-7f0a-5d7e-9a51-6f2b8c3d4e5f"


class Shape(BaseModel):
    """Base of the public JSON objects: immutable, and unknown fields are an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def examples(*objects: Mapping[str, Any]) -> ConfigDict:
    """A `model_config` that shows these objects as examples in the JSON schema and in /openapi.json."""
    return ConfigDict(json_schema_extra={"examples": [dict(one) for one in objects]})


def new_id() -> str:
    return str(uuid4())


def now() -> datetime:
    return datetime.now(UTC)


def iso(moment: datetime) -> str:
    """The time in UTC, with milliseconds and a Z: 2025-12-17T14:23:45.123Z."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _session_id(value: Any) -> str:
    try:
        return checked_thread_id(value)
    except InvalidInput as error:
        raise ValueError(error.message) from None


def _in_utc(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError("must have a time zone")
    return moment.astimezone(UTC)


def _timestamp(text: str) -> str:
    return iso(_in_utc(datetime.fromisoformat(text)))


_HEX = "[0-9a-fA-F]"
UUID4 = {"type": "string", "pattern": f"^{_HEX}{{8}}-{_HEX}{{4}}-4{_HEX}{{3}}-[89abAB]{_HEX}{{3}}-{_HEX}{{12}}$"}

SessionId: TypeAlias = Annotated[str, BeforeValidator(_session_id), WithJsonSchema(UUID4)]
UtcTime: TypeAlias = Annotated[datetime, AfterValidator(_in_utc), PlainSerializer(iso, when_used="json")]
Timestamp: TypeAlias = Annotated[str, AfterValidator(_timestamp)]
Similarity: TypeAlias = Annotated[float, Field(ge=0, le=1)]
