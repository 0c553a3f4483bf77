"""Validation errors of a `bookwise.toml` → messages with the key and the allowed values."""

import difflib
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

_SHOWN_MAX = 5


def complaints(error: ValidationError, model: type[BaseModel]) -> str:
    """The first few problems, separated by semicolons."""
    problems = error.errors(include_url=False, include_context=False)
    messages = [_message(problem, model) for problem in problems[:_SHOWN_MAX]]
    more = [f"and {len(problems) - _SHOWN_MAX} more"] if len(problems) > _SHOWN_MAX else []
    return "; ".join(messages + more)


def _message(problem: Any, model: type[BaseModel]) -> str:
    loc: tuple[str | int, ...] = problem["loc"]
    if problem["type"] == "extra_forbidden":
        return f"unknown key {_key_path(loc)}; {_known_keys(loc, model)}"
    message = problem["msg"].removeprefix("Value error, ")
    if not loc:
        return str(message)
    hides_input = problem["type"] in ("missing", "value_error")
    return f"{_key_path(loc)}: {message}" + ("" if hides_input else f" (found {problem['input']!r:.60})")


def _key_path(loc: tuple[str | int, ...]) -> str:
    """`("rules", 0, "layer")` → `rules[1].layer`, counted from one."""
    path = "".join(f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in loc)
    return path.removeprefix(".")


def _known_keys(loc: tuple[str | int, ...], model: type[BaseModel]) -> str:
    for part in loc[:-1]:
        model = model if isinstance(part, int) else _model_in(model.model_fields[part].annotation)
    keys = list(model.model_fields)
    similar = difflib.get_close_matches(str(loc[-1]), keys, n=1)
    return f"did you mean {similar[0]}?" if similar else f"allowed keys: {', '.join(keys)}"


def _model_in(annotation: Any) -> type[BaseModel]:
    """The table's model inside `Model`, `Model | None` or `tuple[Model, ...]`."""
    candidates = [annotation, *get_args(annotation)]
    return next(c for c in candidates if isinstance(c, type) and issubclass(c, BaseModel))
