"""The service opened for a test, on a book of its own."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.http_service import Opened, http_service
from tests.support.small_book import settings_for


@pytest.fixture
def own_index(request: pytest.FixtureRequest) -> bool:
    """Whether the test writes to the index, so that it cannot share one."""
    return request.node.get_closest_marker("own_index") is not None


@pytest.fixture
async def opened(own_index: bool, tmp_path: Path, small_book: Path) -> AsyncIterator[Opened]:
    """The small book, without keys."""
    async with http_service(settings_for(tmp_path / "data"), small_book, own_index=own_index) as opened:
        yield opened


@pytest.fixture
async def locked(own_index: bool, tmp_path: Path, small_book: Path) -> AsyncIterator[Opened]:
    """The small book, for those who have a key."""
    settings = settings_for(tmp_path / "data")
    async with http_service(settings, small_book, open_to_anyone=False, own_index=own_index) as opened:
        yield opened


@pytest.fixture
async def empty(tmp_path: Path) -> AsyncIterator[Opened]:
    """A service without a book, on the quick embedder."""
    async with http_service(settings_for(tmp_path / "data", embedder="hashing")) as opened:
        yield opened
