"""Runs calls that wait for something at the same time, so that their waits do not add up."""

from collections.abc import Awaitable, Callable
from typing import Any

import anyio

from bookwise.domain.errors import BookwiseError


async def concurrently(*calls: Callable[[], Awaitable[Any]]) -> list[Any]:
    """The results in order. The first error ends the other calls and is raised."""
    results: dict[int, Any] = {}
    errors: list[BookwiseError] = []

    async def run(number: int, call: Callable[[], Awaitable[Any]]) -> None:
        try:
            results[number] = await call()
        except BookwiseError as error:
            errors.append(error)
            group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        for number, call in enumerate(calls):
            group.start_soon(run, number, call)
    if errors:
        raise errors[0]
    return [results[number] for number in range(len(calls))]
