"""Chunks of a service → validated parts of a response with a known end."""

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
    """The content of one chunk."""

    text: str = ""
    calls: tuple[ToolCallPart, ...] = ()
    finish: Finish | None = None  #: `limit`: stopped at the model's limit or at ours
    usage: Usage | None = None

    @property
    def has_content(self) -> bool:
        return bool(self.text or self.calls)

    @property
    def size(self) -> int:
        return len(self.text) + sum(len(call.name) + len(call.arguments) + 1 for call in self.calls)


class ResponseReader:
    """Reads one response from its first chunk to its end."""

    def __init__(self, text_max: int = TEXT_MAX) -> None:
        self._left = text_max
        self.began = False
        self.finish: Finish | None = None
        self.stopped = False  #: at our limit; the rest of the response is not read

    def part(self, chunk: object) -> ResponsePart:
        """The chunk, validated and cut to the remaining size; raises `RetryReason` when it is invalid."""
        part = response_part(chunk)
        if part.size > self._left:
            part = replace(shorten(part, self._left), finish="limit")
            self.stopped = True
        self._left -= part.size
        self.began = self.began or part.has_content
        self.finish = part.finish or self.finish
        return part

    def end(self) -> None:
        """Raises `RetryReason` unless the response has content and an end."""
        if not self.began:
            raise RetryReason("bad-response")
        if self.finish is None:
            raise RetryReason("cut-off")


def shorten(part: ResponsePart, limit: int) -> ResponsePart:
    """The beginning of the part, up to this size."""
    text = part.text[:limit]
    left, calls = limit - len(text), list[ToolCallPart]()
    for call in part.calls:
        name = call.name[: max(0, left - 1)]
        arguments = call.arguments[: max(0, left - 1 - len(name))]
        left -= len(name) + len(arguments) + 1
        if left < 0:
            break
        calls.append(replace(call, name=name, arguments=arguments))
    return replace(part, text=text, calls=tuple(calls))


def response_part(chunk: Any) -> ResponsePart:
    """The content of the chunk; raises `RetryReason` when it has the wrong form."""
    choices = getattr(chunk, "choices", None)
    if not isinstance(choices, list):
        raise RetryReason("bad-response")
    usage = _usage(getattr(chunk, "usage", None))
    if not choices:  # servers start or end a response with a chunk of usage figures only
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


def _calls(value: object) -> tuple[ToolCallPart, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise RetryReason("bad-response")
    return tuple(_call(entry) for entry in value)


def _call(entry: object) -> ToolCallPart:
    index, function = getattr(entry, "index", None), getattr(entry, "function", None)
    if type(index) is not int:
        raise RetryReason("bad-response")
    return ToolCallPart(
        index=index,
        name=_text(getattr(function, "name", None)),
        arguments=_text(getattr(function, "arguments", None)),
    )


def _text(value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise RetryReason("bad-response")
    return value


def _usage(value: object) -> Usage | None:
    if value is None:
        return None
    return Usage(
        prompt_tokens=_count(getattr(value, "prompt_tokens", None)),
        completion_tokens=_count(getattr(value, "completion_tokens", None)),
        calls=1,
    )


def _count(value: object) -> int:
    return value if type(value) is int and value >= 0 else 0
