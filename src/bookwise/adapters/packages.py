"""Whether an optional package is installed."""

from importlib.util import find_spec


def is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except (ImportError, ValueError):  # blocked by an import hook, or a placeholder without a spec
        return False
