"""The optional packages of the model engines → an error that names the missing one."""

from importlib.util import find_spec

from bookwise.domain.errors import Misconfigured


def require_packages() -> None:
    """`Misconfigured` unless the packages of the extra `agent` are installed."""
    for package in ("openai", "agents"):
        if not _is_installed(package):
            raise Misconfigured(
                f"The Python package {package!r}, which language models need, is not installed.",
                advice="Install it with `pip install 'bookwise[agent]'`, or set BOOKWISE_ENGINE=extractive.",
            )


def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except (ImportError, ValueError):  # blocked by an import hook, or a placeholder without a spec
        return False
