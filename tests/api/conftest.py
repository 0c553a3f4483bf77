"""The service opened for a test, on a book of its own."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.http_service import Opened, http_service
from tests.support.small_book import settings_for


@pytest.fixture
async def opened(tmp_path: Path, small_book: Path) -> AsyncIterator[Opened]:
    """The small book, without keys."""
    async with http_service(settings_for(tmp_path / "data"), small_book) as opened:
        yield opened


@pytest.fixture
async def locked(tmp_path: Path, small_book: Path) -> AsyncIterator[Opened]:
    """The small book, for those who have a key."""
    async with http_service(settings_for(tmp_path / "data"), small_book, open_to_anyone=False) as opened:
        yield opened


@pytest.fixture
async def empty(tmp_path: Path) -> AsyncIterator[Opened]:
    """A service without a book, on the quick embedder."""
    async with http_service(settings_for(tmp_path / "data", embedder="hashing")) as opened:
        yield opened
