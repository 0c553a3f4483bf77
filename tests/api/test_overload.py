"""A service that is asked more than it can answer says so at once, and stays there for the others."""

from contextlib import AsyncExitStack
from pathlib import Path

import anyio
import pytest

from bookwise.api.load_limit import AT_ONCE
from tests.support.http_service import Exchange, Opened, exchange, http_service
from tests.support.scripted_http import Reply, answering
from tests.support.small_book import settings_for

pytestmark = pytest.mark.anyio

VALVE = "When does the irrigation valve open?"
SESSION = "550e8400-e29b-41d4-a716-446655440000"
REQUESTS = {
    "/chat/run": {"message": VALVE, "session_id": SESSION},
    "/chat/stream": {"message": VALVE, "session_id": SESSION},
    "/v1/chat/completions": {"model": "book", "messages": [{"role": "user", "content": VALVE}]},
    "/search": {"text": VALVE},
}


@pytest.mark.parametrize("path", REQUESTS)
async def test_a_question_that_would_wait_too_long_gets_503_and_leaves_nothing(
    path: str, tmp_path: Path, small_book: Path
) -> None:
    async with http_service(settings_for(tmp_path / "data", queue_seconds=0), small_book) as opened:
        async with AsyncExitStack() as slots:
            for _ in range(AT_ONCE):
                await slots.enter_async_context(opened.service.load_limit.slot())
            refused = await opened.client.post(path, json=REQUESTS[path])
            assert refused.status_code == 503
            assert refused.json()["type"].endswith("/overloaded")
            assert int(refused.headers["Retry-After"]) >= 1
            assert (await opened.client.get("/health")).status_code == 200
        assert (await opened.client.get(f"/session/{SESSION}")).status_code == 404
        assert (await opened.client.post(path, json=REQUESTS[path])).status_code == 200


async def test_answers_that_wait_for_their_model_take_no_slot(tmp_path: Path, small_book: Path) -> None:
    async with answering(lambda _: Reply(fault="hang")) as model:
        settings = settings_for(tmp_path / "data", model_url=model.url, queue_seconds=0)
        async with http_service(settings, small_book) as opened:
            await _open_streams(opened, AT_ONCE + 2)


async def _open_streams(opened: Opened, count: int) -> None:
    """Opens streams one after the other; the readers leave when all are open."""
    streams = [Exchange() for _ in range(count)]
    body = f'{{"message": "{VALVE}"}}'.encode()
    async with anyio.create_task_group() as tasks:
        for stream in streams:

            async def read(stream: Exchange = stream) -> None:
                await exchange(opened.app, "/chat/stream", body, seen=stream)

            tasks.start_soon(read)
            await stream.until("event: retrieval")
        for stream in streams:
            stream.leave()
