"""The optional packages of the model engines → an error that names the missing one."""

from bookwise.adapters.packages import is_installed
from bookwise.domain.errors import Misconfigured


def require_packages() -> None:
    """`Misconfigured` unless the packages of the extra `agent` are installed."""
    for package in ("openai", "agents"):
        if not is_installed(package):
            raise Misconfigured(
                f"The Python package {package!r}, which language models need, is not installed.",
                advice="Install it with `pip install 'bookwise[agent]'`, or set BOOKWISE_ENGINE=extractive.",
            )
