"""Chunks as a service sends them into pieces that can be trusted, with an end that is known."""

from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from bookwise.adapters.openai.failures import RetryReason
from bookwise.domain.answers import Usage

TEXT_MAX = 65_536  #: characters of one answer, the arguments of its tool calls included

Finish: TypeAlias = Literal["whole", "limit"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallPart:
    """A part of one of the model's tool calls."""

    index: int
    name: str = ""
    arguments: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponsePart:
    """What one chunk adds."""

    text: str = ""
    calls: tuple[ToolCallPart, ...] = ()
    finish: Finish | None = None  #: `limit`: the model stopped at its limit, or was stopped at ours
    usage: Usage | None = None

    @property
    def says_something(self) -> bool:
        return bool(self.text or self.calls)

    @property
    def size(self) -> int:
        return len(self.text) + sum(len(call.name) + len(call.arguments) + 1 for call in self.calls)


class ResponseReader:
    """Follows one answer from its first chunk to its end."""

    def __init__(self, text_max: int = TEXT_MAX) -> None:
        self._left = text_max
        self.began = False
        self.finish: Finish | None = None
        self.stopped = False  #: at our limit; the rest of the answer is not read

    def piece(self, chunk: object) -> ResponsePart:
        """The chunk, checked and cut to what may still be said; `RetryReason` when it is none."""
        found = response_part(chunk)
        if found.size > self._left:
            found = replace(shortened(found, self._left), finish="limit")
            self.stopped = True
        self._left -= found.size
        self.began = self.began or found.says_something
        self.finish = found.finish or self.finish
        return found

    def end(self) -> None:
        """`RetryReason` unless the answer is one and came to its end."""
        if not self.began:
            raise RetryReason("bad-response")
        if self.finish is None:
            raise RetryReason("cut-off")


def shortened(piece: ResponsePart, most: int) -> ResponsePart:
    """The beginning of the piece, of this size."""
    text = piece.text[:most]
    left, calls = most - len(text), list[ToolCallPart]()
    for call in piece.calls:
        name = call.name[: max(0, left - 1)]
        arguments = call.arguments[: max(0, left - 1 - len(name))]
        left -= len(name) + len(arguments) + 1
        if left < 0:
            break
        calls.append(replace(call, name=name, arguments=arguments))
    return replace(piece, text=text, calls=tuple(calls))


def response_part(chunk: Any) -> ResponsePart:
    """What the chunk adds; `RetryReason` when it is not made like one."""
    choices = getattr(chunk, "choices", None)
    if not isinstance(choices, list):
        raise RetryReason("bad-response")
    usage = _usage(getattr(chunk, "usage", None))
    if not choices:  # servers open or close an answer with a chunk of figures alone
        return ResponsePart(usage=usage)
    choice = choices[0]
    delta = getattr(choice, "delta", None)
    if getattr(delta, "refusal", None):
        raise RetryReason("content-filter")
    return ResponsePart(
        text=_text(getattr(delta, "content", None)),
        calls=_calls(getattr(delta, "tool_calls", None)),
        finish=_finish(getattr(choice, "finish_reason", None)),
        usage=usage,
    )


def _finish(reason: object) -> Finish | None:
    if reason == "content_filter":
        raise RetryReason("content-filter")
    if reason == "length":
        return "limit"
    return "whole" if reason else None


def _calls(sent: object) -> tuple[ToolCallPart, ...]:
    if sent is None:
        return ()
    if not isinstance(sent, list):
        raise RetryReason("bad-response")
    return tuple(_call(entry) for entry in sent)


def _call(entry: object) -> ToolCallPart:
    index, function = getattr(entry, "index", None), getattr(entry, "function", None)
    if type(index) is not int:
        raise RetryReason("bad-response")
    return ToolCallPart(
        index=index,
        name=_text(getattr(function, "name", None)),
        arguments=_text(getattr(function, "arguments", None)),
    )


def _text(sent: object) -> str:
    if sent is None:
        return ""
    if not isinstance(sent, str):
        raise RetryReason("bad-response")
    return sent


def _usage(sent: object) -> Usage | None:
    if sent is None:
        return None
    return Usage(
        prompt_tokens=_count(getattr(sent, "prompt_tokens", None)),
        completion_tokens=_count(getattr(sent, "completion_tokens", None)),
        calls=1,
    )


def _count(sent: object) -> int:
    return sent if type(sent) is int and sent >= 0 else 0
