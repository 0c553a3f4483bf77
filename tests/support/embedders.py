"""One embedding model for all tests of a process: loading it takes longer than most of the tests."""

from functools import cache

from bookwise.adapters.embedders.minilm import MiniLM
from bookwise.ports import Embedder
from bookwise.settings import Settings


def shared_embedder(settings: Settings) -> Embedder | None:
    """The loaded model where the settings name it; None for another embedder, which the app opens itself."""
    return _minilm() if settings.embedder == "minilm" else None


@cache
def _minilm() -> Embedder:
    return MiniLM(cache=Settings().cache_folder)
