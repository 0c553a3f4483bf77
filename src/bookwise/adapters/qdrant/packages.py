"""The optional package of the server adapter → an error that names it when it is missing."""

from bookwise.adapters.packages import is_installed
from bookwise.domain.errors import Misconfigured


def require_client() -> None:
    """`Misconfigured` unless the package of the extra `qdrant` is installed."""
    if not is_installed("qdrant_client"):
        raise Misconfigured(
            "QDRANT_URL is set, but the Python package 'qdrant_client' is not installed.",
            advice="Install it with `pip install 'bookwise[qdrant]'`, or unset QDRANT_URL to keep the index in the "
            "data folder.",
        )
