"""The tools for assistants, as the official client sees them over HTTP and over stdio."""

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import httpx2
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from bookwise.wiring import open_app
from tests.support.apps import ingested, write_book
from tests.support.copies import copy_folder
from tests.support.program import PROGRAM
from tests.support.served import Served, served
from tests.support.small_book import BOOK, settings_for

pytestmark = pytest.mark.anyio

SENSOR = "What is a moisture sensor?"
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
ACCEPT = {"Accept": "application/json, text/event-stream"}


@asynccontextmanager
async def assistant(at: Served, key: str, *, mode: Literal["auto", "legacy"] = "auto") -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}) as http,
        Client(streamable_http_client(f"{at.url}/mcp", http_client=http), mode=mode) as client,
    ):
        yield client


async def told(client: Client, tool: str, **arguments: Any) -> Any:
    """The one text a tool returns, which is JSON."""
    result = await client.call_tool(tool, arguments)
    (content,) = result.content
    assert content.type == "text"
    assert not result.is_error, content.text
    return json.loads(content.text)


async def trouble(client: Client, tool: str, **arguments: Any) -> str:
    """The words of a tool that could not do it."""
    result = await client.call_tool(tool, arguments)
    (content,) = result.content
    assert content.type == "text"
    assert result.is_error, content.text
    return content.text


@asynccontextmanager
async def closed_service(tmp_path: Path, small_book: Path) -> AsyncIterator[Served]:
    """One that needs a key."""
    async with served(settings_for(tmp_path / "data"), small_book, open_to_anyone=False, own_index=True) as at:
        yield at


async def with_a_vault(at: Served, tmp_path: Path) -> None:
    lessons = {"a.md": "# Vault\n\nThe moisture sensor of the vault has the code 1234.\n"}
    await ingested(at.service.app, write_book(tmp_path / "vault", lessons), book_id="vault")


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_what_is_found_can_be_fetched(tmp_path: Path, small_book: Path, mode: Literal["auto", "legacy"]) -> None:
    async with closed_service(tmp_path, small_book) as at, assistant(at, await at.key(), mode=mode) as client:
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
        found = await told(client, "search", query=SENSOR)
        first = found["results"][0]
        passage = await told(client, "fetch", id=first["id"])
    assert set(listed) == {"search", "fetch", "ask"}
    assert listed["search"].input_schema["required"] == ["query"]
    assert listed["fetch"].input_schema["required"] == ["id"]
    assert list(found) == ["results"]
    assert all(set(result) == {"id", "title", "url"} for result in found["results"])
    assert first["title"].startswith("Moisture Sensors")
    assert first["url"].startswith("https://greenhouse.example/")
    assert set(passage) == {"id", "title", "text", "url", "metadata"}
    assert {name: passage[name] for name in first} == first
    assert "moisture sensor" in passage["text"]
    assert passage["metadata"]["book"] == BOOK


async def test_neighbours_of_a_passage_can_be_fetched_too(tmp_path: Path, small_book: Path) -> None:
    async with closed_service(tmp_path, small_book) as at, assistant(at, await at.key()) as client:
        results = (await told(client, "search", query="moisture sensor"))["results"]
        passages = [await told(client, "fetch", id=result["id"]) for result in results]
        chained = next(passage for passage in passages if "next_id" in passage["metadata"])
        following = await told(client, "fetch", id=chained["metadata"]["next_id"])
    assert following["metadata"]["previous_id"] == chained["id"]


async def test_an_answer_cites_passages_that_can_be_fetched(tmp_path: Path, small_book: Path) -> None:
    async with closed_service(tmp_path, small_book) as at, assistant(at, await at.key()) as client:
        answer = await told(client, "ask", question=SENSOR, book=BOOK)
        cited = answer["citations"][0]
        passage = await told(client, "fetch", id=cited["id"])
        assert await at.service.app.threads.threads() == []
    assert answer["outcome"] == "answered"
    assert f"[{cited['number']}]" in answer["answer"]
    assert cited["quote"]
    assert cited["quote"] in passage["text"]
    assert any("moisture sensor" in answer["answer"][h["start"] : h["end"]] for h in answer["highlights"])
    assert all(set(other) == {"id", "title", "url", "line"} for other in answer["related"])


async def test_what_the_book_does_not_answer_is_refused(tmp_path: Path, small_book: Path) -> None:
    async with closed_service(tmp_path, small_book) as at, assistant(at, await at.key()) as client:
        answer = await told(client, "ask", question="Who won the football world cup in 1998?")
    assert (answer["outcome"], answer["citations"]) == ("refused", [])


async def test_a_call_that_makes_no_sense_says_what_is_wrong(tmp_path: Path, small_book: Path) -> None:
    async with closed_service(tmp_path, small_book) as at, assistant(at, await at.key()) as client:
        assert "query" in await trouble(client, "search")
        assert "3 characters" in await trouble(client, "search", query="a")
        assert "There is no chunk nowhere" in await trouble(client, "fetch", id="nowhere")
        assert "There is no book 'absent'" in await trouble(client, "ask", question=SENSOR, book="absent")
        with pytest.raises(MCPError, match="There is no tool 'delete'"):
            await client.call_tool("delete", {})


async def test_a_key_sees_its_books_and_nothing_of_others(tmp_path: Path, small_book: Path) -> None:
    async with closed_service(tmp_path, small_book) as at:
        await with_a_vault(at, tmp_path)
        async with assistant(at, await at.key("vault")) as insider:
            (secret,) = (await told(insider, "search", query="moisture sensor"))["results"]
            assert "1234" in (await told(insider, "fetch", id=secret["id"]))["text"]
        async with assistant(at, await at.key(BOOK)) as client:
            found = (await told(client, "search", query="moisture sensor code vault"))["results"]
            assert found
            assert secret["id"] not in [result["id"] for result in found]
            absent = "0" * len(secret["id"])
            foreign = await trouble(client, "fetch", id=secret["id"])
            assert foreign.replace(secret["id"], absent) == await trouble(client, "fetch", id=absent)
            assert "There is no book 'vault'" in await trouble(client, "ask", question=SENSOR, book="vault")


async def test_a_search_reads_all_books_a_key_sees(tmp_path: Path, small_book: Path) -> None:
    async with closed_service(tmp_path, small_book) as at:
        await with_a_vault(at, tmp_path)
        async with assistant(at, await at.key()) as client:
            found = (await told(client, "search", query="moisture sensor"))["results"]
            books = {(await told(client, "fetch", id=result["id"]))["metadata"]["book"] for result in found}
    assert books == {BOOK, "vault"}


async def test_of_several_books_one_must_be_named_by_the_argument_that_the_tool_has(
    tmp_path: Path, small_book: Path
) -> None:
    async with closed_service(tmp_path, small_book) as at:
        await with_a_vault(at, tmp_path)
        async with assistant(at, await at.key()) as client:
            problem = await trouble(client, "ask", question=SENSOR)
            assert "`book` in Python and MCP" in problem
            assert (await told(client, "ask", question=SENSOR, book=BOOK))["outcome"] == "answered"


async def test_without_a_key_that_works_nothing_is_told(tmp_path: Path, small_book: Path) -> None:
    async with closed_service(tmp_path, small_book) as at, httpx2.AsyncClient(headers=ACCEPT) as http:
        for headers in ({}, {"Authorization": "Bearer wrong"}):
            response = await http.post(f"{at.url}/mcp", json=CALL, headers=headers)
            assert response.status_code == 401
            assert response.headers["www-authenticate"] == "Bearer"
            assert response.headers["content-type"] == "application/problem+json"
        allowed = await http.post(f"{at.url}/mcp", json=CALL, headers={"Authorization": f"Bearer {await at.key()}"})
        assert allowed.status_code == 200


async def test_calls_count_towards_the_rate_of_a_key(tmp_path: Path, small_book: Path) -> None:
    async with closed_service(tmp_path, small_book) as at:
        _, key = await at.service.keys.create("slow", "reader", rate_per_minute=2)
        async with httpx2.AsyncClient(headers={**ACCEPT, "Authorization": f"Bearer {key}"}) as http:
            statuses = [(await http.post(f"{at.url}/mcp", json=CALL)).status_code for _ in range(3)]
    assert statuses == [200, 200, 429]


async def test_an_open_service_needs_no_key_but_answers_no_page_from_elsewhere(
    tmp_path: Path, small_book: Path
) -> None:
    async with served(settings_for(tmp_path / "data"), small_book) as at:
        async with Client(f"{at.url}/mcp") as client:
            assert (await told(client, "ask", question=SENSOR))["outcome"] == "answered"
        async with httpx2.AsyncClient(headers=ACCEPT) as http:
            for foreign in ({"Host": "evil.example"}, {"Origin": "https://evil.example"}):
                response = await http.post(f"{at.url}/mcp", json=CALL, headers=foreign)
                assert response.status_code == 403


@pytest.mark.slow
async def test_the_program_serves_the_same_tools_on_stdio_and_leaves_the_folder_to_others_in_between(
    tmp_path: Path, small_book: Path
) -> None:
    data = copy_folder(small_book, tmp_path / "data")
    program = StdioServerParameters(command=PROGRAM, args=["--data-dir", str(data), "mcp"], env=dict(os.environ))
    async with Client(program) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == {"search", "fetch", "ask"}
        found = await told(client, "search", query=SENSOR)
        assert "NUL" in await trouble(client, "search", query="a\0b")
        async with open_app(settings_for(data)):
            assert "in use by" in await trouble(client, "search", query=SENSOR)
        passage = await told(client, "fetch", id=found["results"][0]["id"])
        answer = await told(client, "ask", question=SENSOR)
    assert "moisture sensor" in passage["text"]
    assert answer["outcome"] == "answered"
