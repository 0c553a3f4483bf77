"""What every test shares."""

import os

import pytest
from hypothesis import settings

pytest_plugins = ["tests.support.small_book"]
settings.register_profile("here", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
