"""Messages in order → whether their roles take turns: one rule for every conversation object."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal, Protocol, TypeAlias

from bookwise.domain.errors import InvalidInput

TurnRole: TypeAlias = Literal["system", "user", "assistant", "tool"]
ROLES: tuple[TurnRole, ...] = ("system", "user", "assistant", "tool")

_TOOL_CALL = "tool call"
_NEXT: Mapping[str, tuple[str, ...]] = {
    "system": ("user",),
    "user": ("assistant", _TOOL_CALL),
    _TOOL_CALL: ("tool",),
    "tool": ("tool", "assistant", _TOOL_CALL),
    "assistant": ("user",),
}


class Turn(Protocol):
    """The part of a message that the rule looks at."""

    @property
    def role(self) -> TurnRole: ...

    @property
    def tool_calls(self) -> Sequence[Any] | None: ...


def require_turns(messages: Iterable[Turn]) -> None:
    """System first; then user and assistant alternate, with tool calls and their results in between."""
    kinds = [_kind(message) for message in messages]
    if kinds and kinds[0] != "system":
        raise InvalidInput(f"A conversation must start with a system message, not with {kinds[0]!r}.")
    for before, after in pairwise(kinds):
        if after not in _NEXT[before]:
            allowed = " or ".join(_NEXT[before])
            raise InvalidInput(
                f"User and assistant must take turns: expected {allowed} after {before!r}, not {after!r}."
            )


def _kind(message: Turn) -> str:
    return _TOOL_CALL if message.role == "assistant" and message.tool_calls else message.role
