"""Values of settings → the same values, checked for their format: `ValueError` says what is expected."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import SecretStr

FASTEMBED = "fastembed"
_ORIGIN = re.compile(r"https?://[^\s/?#@,*]+")
_EMBEDDER = re.compile(r"minilm|openai|cohere|hashing|fastembed:\S+")
_RERANKER = re.compile(r"(fastembed|cohere|openai):\S+")


def origins(value: tuple[str, ...]) -> tuple[str, ...]:
    found = tuple(origin for part in value if (origin := part.strip()))
    if not all(map(_ORIGIN.fullmatch, found)):
        raise ValueError("must be origins such as https://book.example, separated by commas")
    return found


def http_url(value: str) -> str | None:
    if value and not value.startswith(("http://", "https://")):
        raise ValueError("must start with http:// or https://")
    return value.rstrip("/") or None


def qdrant_server(value: str) -> str | None:
    if "@" in value:
        raise ValueError("must not contain a user or a password; set QDRANT_API_KEY")
    return http_url(value)


def consistency(value: str) -> str:
    if not re.fullmatch(r"[1-9]\d?|majority|quorum|all", value):
        raise ValueError("must be a number from 1 to 99, majority, quorum or all")
    return value


def embedder(value: str) -> str:
    if not _EMBEDDER.fullmatch(value):
        raise ValueError("must be minilm, openai, cohere or fastembed:MODEL")
    return value


def reranker(value: str) -> str:
    if not _RERANKER.fullmatch(value):
        raise ValueError("must be fastembed:MODEL, cohere:MODEL or openai:MODEL")
    return value


def one_line(value: SecretStr) -> SecretStr | None:
    secret = value.get_secret_value()
    if secret != secret.strip() or "\n" in secret:
        raise ValueError("must not start or end with spaces or contain line breaks")
    return value if secret else None
