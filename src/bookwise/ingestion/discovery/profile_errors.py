"""Complaints of pydantic about a `bookwise.toml` → sentences that name the key and what is allowed."""

import difflib
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

_SHOWN = 5


def complaints(error: ValidationError, model: type[BaseModel]) -> str:
    """One clause per wrong key, the first few spelled out."""
    problems = error.errors(include_url=False, include_context=False)
    shown = [_complaint(problem, model) for problem in problems[:_SHOWN]]
    more = [f"and {len(problems) - _SHOWN} more"] if len(problems) > _SHOWN else []
    return "; ".join(shown + more)


def _complaint(problem: Any, model: type[BaseModel]) -> str:
    loc: tuple[str | int, ...] = problem["loc"]
    if problem["type"] == "extra_forbidden":
        return f"unknown key {_key_path(loc)}; {_known_keys(loc, model)}"
    message = problem["msg"].removeprefix("Value error, ")
    if not loc:
        return str(message)
    silent = problem["type"] in ("missing", "value_error")
    return f"{_key_path(loc)}: {message}" + ("" if silent else f" (found {problem['input']!r:.60})")


def _key_path(loc: tuple[str | int, ...]) -> str:
    """`("rules", 0, "layer")` → `rules[1].layer`: people count from one."""
    path = "".join(f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in loc)
    return path.removeprefix(".")


def _known_keys(loc: tuple[str | int, ...], model: type[BaseModel]) -> str:
    for part in loc[:-1]:
        model = model if isinstance(part, int) else _model_in(model.model_fields[part].annotation)
    known = list(model.model_fields)
    near = difflib.get_close_matches(str(loc[-1]), known, n=1)
    return f"did you mean {near[0]}?" if near else f"known here: {', '.join(known)}"


def _model_in(annotation: Any) -> type[BaseModel]:
    """The table's model inside `Model`, `Model | None` or `tuple[Model, ...]`."""
    candidates = [annotation, *get_args(annotation)]
    return next(c for c in candidates if isinstance(c, type) and issubclass(c, BaseModel))
