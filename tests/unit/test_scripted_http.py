"""The server of the tests closes what it accepted: a connection that it left open would fail a later, innocent test."""

import asyncio
import gc
import socket
import warnings

import anyio
import pytest

from tests.support.scripted_http import Reply, answering


@pytest.mark.parametrize("steps", range(6))
def test_a_server_that_stops_while_a_client_connects_leaves_nothing_open(steps: int) -> None:
    async def connect_and_stop() -> None:
        async with answering(lambda request: Reply()) as server:
            with socket.create_connection((server.host, server.port)):
                for _ in range(steps):
                    await asyncio.sleep(0)

    with warnings.catch_warnings(record=True) as unclosed:
        warnings.simplefilter("always", ResourceWarning)
        anyio.run(connect_and_stop)
        gc.collect()
    assert [str(warning.message) for warning in unclosed] == []
