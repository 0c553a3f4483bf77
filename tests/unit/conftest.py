"""What the unit tests share."""

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture
def without_collector() -> Iterator[None]:
    """For tests of what a text costs: collecting would add what all the tests before have left in memory."""
    gc.disable()
    yield
    gc.enable()
