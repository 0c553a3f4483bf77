"""Roles in order → whether they take turns: one rule for every conversation shape."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal, Protocol, TypeAlias

from bookwise.domain.errors import InvalidInput

TurnRole: TypeAlias = Literal["system", "user", "assistant", "tool"]
ROLES: tuple[TurnRole, ...] = ("system", "user", "assistant", "tool")

_CALL = "tool call"
_NEXT: Mapping[str, tuple[str, ...]] = {
    "system": ("user",),
    "user": ("assistant", _CALL),
    _CALL: ("tool",),
    "tool": ("tool", "assistant", _CALL),
    "assistant": ("user",),
}


class Turn(Protocol):
    """What the rule needs to know of a message."""

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
            raise InvalidInput(f"After {before!r} comes {allowed}, not {after!r}: user and assistant take turns.")


def _kind(message: Turn) -> str:
    return _CALL if message.role == "assistant" and message.tool_calls else message.role
