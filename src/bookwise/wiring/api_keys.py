"""The API key that a configured service needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bookwise.domain.errors import Misconfigured

if TYPE_CHECKING:
    from pydantic import SecretStr


def require_key(key: SecretStr | None, name: str, setting: str) -> SecretStr:
    """The key; `Misconfigured` when it is not set."""
    if key is None:
        raise Misconfigured(
            f"{setting} needs {name}, which is not set.",
            advice=f"Set {name}, or use BOOKWISE_EMBEDDER=minilm and BOOKWISE_ENGINE=extractive, which need no key.",
        )
    return key
