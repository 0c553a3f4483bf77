"""What a reader gets when the language model fails, hangs, lies or never ends."""

import asyncio
import gc
import json
import logging
import socket
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from itertools import count, repeat
from typing import Any

import anyio
import pytest

from bookwise.adapters.openai import agent
from bookwise.adapters.openai.agent import MAX_TURNS, AgentAnswerer
from bookwise.adapters.openai.agent_tools import CALLS_PER_TURN
from bookwise.adapters.openai.breaker import COOL_DOWN, FAILURES, Breaker
from bookwise.adapters.openai.client import ATTEMPTS, ModelClient, ModelTimeouts
from bookwise.adapters.openai.direct import DirectAnswerer
from bookwise.adapters.openai.response_parts import TEXT_MAX
from bookwise.domain.answers import TextDelta
from bookwise.domain.errors import IndexUnavailable
from bookwise.ports import Answerer
from tests.support.scripted_http import Reply, Request, Server, answering, scripted
from tests.support.scripted_model import (
    DONE,
    KEY,
    OVERFLOWS,
    PROVIDER_WORDS,
    SSE,
    TOOL,
    Outcome,
    Searches,
    chunk,
    dripping,
    event,
    evidence,
    message,
    model_client,
    outcome,
    passage,
    refuses,
    says,
    searches,
    stream,
    task,
    tool_calls,
)
from tests.support.stopped_time import StoppedTime

pytestmark = pytest.mark.anyio

Engine = Callable[[ModelClient], Answerer]

BUSY = refuses(429)
BROKEN = Reply(status=503, body=b"upstream")
GOOD = says("A loop repeats [1].")
WORDS = chunk({"content": "A loop "})


@pytest.fixture(params=[DirectAnswerer, AgentAnswerer], ids=["direct", "agent"])
def engine(request: pytest.FixtureRequest) -> Any:
    return request.param


def by(time: StoppedTime, **waits: float) -> ModelTimeouts:
    return ModelTimeouts(sleep=time.sleep, clock=time.clock, **waits)


async def asked(
    engine: Engine, *replies: Reply, time: StoppedTime | None = None, within: float = 60.0, **waits: float
) -> tuple[Outcome, Server]:
    """What comes of these replies, where waiting takes no time."""
    time = time or StoppedTime()
    async with scripted(*replies) as server, model_client(server.url, by(time, **waits)) as client:
        return await outcome(engine(client), task(deadline=time.now + within)), server


class TestBusy:  # LLM-01
    @pytest.mark.parametrize(
        ("headers", "wait"),
        [
            ({"Retry-After": "1"}, 1.0),
            ({"Retry-After": "Wed, 21 Oct 2015 07:28:30 GMT", "Date": "Wed, 21 Oct 2015 07:28:00 GMT"}, 30.0),
        ],
    )
    async def test_a_wait_that_fits_the_deadline_is_kept(
        self, engine: Engine, headers: dict[str, str], wait: float
    ) -> None:
        time = StoppedTime()
        result, _ = await asked(engine, refuses(429, **headers), GOOD, time=time)
        assert result.text == "A loop repeats [1]."
        assert time.waits == [wait]

    @pytest.mark.parametrize("asks", ["3600", "60", "Wed, 21 Oct 2999 07:28:00 GMT"])
    async def test_a_wait_beyond_the_deadline_is_not_begun(self, engine: Engine, asks: str) -> None:
        time = StoppedTime()
        result, _ = await asked(engine, refuses(429, **{"Retry-After": asks}), time=time)
        assert result.reason == "rate-limited"
        assert time.waits == []

    @pytest.mark.parametrize("asks", ["soon", "-1", ""])
    async def test_a_wait_that_makes_no_sense_is_replaced_by_our_own(self, engine: Engine, asks: str) -> None:
        time = StoppedTime()
        result, _ = await asked(engine, refuses(429, **{"Retry-After": asks}), GOOD, time=time)
        assert result.written
        assert len(time.waits) == 1
        assert 0.25 <= time.waits[0] <= 0.5


class TestFlapping:  # LLM-02
    @pytest.mark.parametrize("status", [500, 502, 503, 504, 408])
    async def test_two_failures_are_mended_by_the_third_attempt(self, engine: Engine, status: int) -> None:
        time = StoppedTime()
        result, _ = await asked(engine, Reply(status=status), Reply(status=status), GOOD, time=time)
        assert result.text == "A loop repeats [1]."
        assert len(time.waits) == 2
        assert time.waits[0] < time.waits[1]

    async def test_there_are_three_attempts_in_total_and_no_more(self, engine: Engine) -> None:
        result, server = await asked(engine, BROKEN, BUSY, BROKEN)
        assert result.reason == "server-error"
        assert len(server.requests) == ATTEMPTS == 3

    async def test_an_error_in_place_of_the_first_chunk_is_one_like_any_other(self, engine: Engine) -> None:
        error = {"error": {"message": PROVIDER_WORDS, "code": 502}}
        result, _ = await asked(engine, stream(error), stream({"error": {"message": "busy", "code": "429"}}), GOOD)
        assert result.written

    @pytest.mark.parametrize("status", [302, 404, 409, 422])
    async def test_what_another_attempt_cannot_change_is_not_tried_again(self, engine: Engine, status: int) -> None:
        result, server = await asked(engine, Reply(status=status, headers={"Location": "http://127.0.0.1:9/"}))
        assert result.reason == "bad-response"
        assert len(server.requests) == 1

    async def test_every_call_of_an_agent_has_its_own_attempts(self) -> None:
        result, server = await asked(AgentAnswerer, BROKEN, BROKEN, searches("loops"), BROKEN, BROKEN, GOOD)
        assert result.text == "A loop repeats [1]."
        assert len(server.requests) == 6


class TestUnreachable:  # LLM-03
    async def unreachable(self, engine: Engine, url: str) -> Outcome:
        time = StoppedTime()
        async with model_client(url, by(time)) as client:
            result = await outcome(engine(client), task(deadline=time.now + 60))
        assert len(time.waits) == ATTEMPTS - 1
        return result

    async def test_a_refused_connection_is_tried_again_and_reported(self, engine: Engine) -> None:
        with socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))
            port = closed.getsockname()[1]
        assert (await self.unreachable(engine, f"http://127.0.0.1:{port}")).reason == "unreachable"

    async def test_a_host_nobody_knows_is_unreachable(self, engine: Engine) -> None:
        assert (await self.unreachable(engine, "http://no-such-host.invalid")).reason == "unreachable"

    async def test_a_server_without_tls_is_unreachable_by_https(self, engine: Engine) -> None:
        async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(1)
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            await writer.drain()
            writer.close()

        async with await asyncio.start_server(plain, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            assert (await self.unreachable(engine, f"https://127.0.0.1:{port}")).reason == "unreachable"

    async def test_a_connection_reset_before_the_first_word_is_mended(self, engine: Engine) -> None:
        cut = stream(chunk({"role": "assistant", "content": ""}), WORDS, cut_after=10)
        result, _ = await asked(engine, Reply(fault="reset"), cut, GOOD)
        assert result.text == "A loop repeats [1]."


class Drip:
    """An answer without an end, which notices when nobody reads on."""

    def __init__(self, words: object) -> None:
        self.begun = anyio.Event()
        self.ended = False
        self._words = words

    def reply(self, request: Request) -> Reply:
        return dripping(self._drops(), pause=0.01)

    async def over(self) -> None:
        with anyio.fail_after(30):
            while not self.ended:
                gc.collect()  # the server's generator ends when nothing holds it any more
                await anyio.sleep(0.1)  # collecting takes a while in a process of many tests

    def _drops(self) -> Iterator[object]:
        self.begun.set()
        try:
            yield from repeat(self._words)
        finally:
            self.ended = True


class TestSilence:  # LLM-04
    async def test_a_service_that_never_answers_is_given_up_in_time(self, engine: Engine) -> None:
        hang = Reply(fault="hang")
        result, _ = await asked(engine, hang, hang, hang, first_chunk=0.4)
        assert result.reason == "timeout"

    async def test_a_service_that_only_sends_headers_is_given_up_in_time(self, engine: Engine) -> None:
        silent = [dripping([b": still here\n\n"], pause=60) for _ in range(ATTEMPTS)]
        result, _ = await asked(engine, *silent, first_chunk=0.4)
        assert result.reason == "timeout"

    async def test_silence_between_two_words_ends_the_answer_without_another_attempt(self, engine: Engine) -> None:
        long = chunk({"content": "A loop " * 100})
        result, server = await asked(engine, dripping([long, WORDS], pause=60), next_chunk=0.1)
        assert result.reason == "timeout"
        assert result.text == "A loop " * 100
        assert len(server.requests) == 1

    async def test_an_answer_that_drips_for_ever_ends_at_the_deadline_and_frees_its_connection(
        self, engine: Engine
    ) -> None:
        drip = Drip(WORDS)
        async with answering(drip.reply) as server, model_client(server.url) as client:
            result = await outcome(engine(client), task(within=1.5))
            await drip.over()
        assert result.reason == "timeout"

    async def test_nothing_is_sent_after_the_deadline(self, engine: Engine) -> None:
        result, server = await asked(engine, within=-1.0)
        assert result.reason == "timeout"
        assert server.requests == []

    async def test_who_stops_reading_frees_the_connection(self, engine: Engine) -> None:
        drip = Drip(chunk({"content": "A loop " * 100}))
        async with answering(drip.reply) as server, model_client(server.url) as client:
            answer: Any = engine(client).answer(task())
            assert isinstance(await anext(answer), TextDelta)
            await answer.aclose()
            await drip.over()

    async def test_who_is_cancelled_while_reading_frees_the_connection(self, engine: Engine) -> None:
        drip = Drip(WORDS)
        async with answering(drip.reply) as server, model_client(server.url) as client:
            async with anyio.create_task_group() as reading:
                reading.start_soon(outcome, engine(client), task())
                await drip.begun.wait()
                assert not drip.ended
                reading.cancel_scope.cancel()
            await drip.over()


class TestCutOff:  # LLM-05
    LONG = chunk({"content": "A loop " * 100})

    @pytest.mark.parametrize(
        "broken",
        [
            stream(LONG, WORDS, done=False),
            stream(LONG, WORDS),
            stream(LONG, WORDS, chunk({}, finish="stop"), cut_after=len(event(LONG)) + 5),
            stream(LONG, {"error": {"message": PROVIDER_WORDS}}),
            stream(LONG, b"data: {broken\n\n"),
        ],
        ids=["no end", "no reason to end", "connection lost", "error", "invalid chunk"],
    )
    async def test_what_was_said_is_not_said_again(self, engine: Engine, broken: Reply) -> None:
        result, server = await asked(engine, broken)
        assert result.reason == "cut-off"
        assert result.text.startswith("A loop A loop ")
        assert result.text.count("A loop ") in (100, 101)
        assert len(server.requests) == 1


class TestNonsense:  # LLM-06
    @pytest.mark.parametrize(
        "nonsense",
        [
            Reply(headers={"Content-Type": "text/html"}, body=b"<html><body>Sign in</body></html>"),
            Reply(json={"choices": [{"message": {"content": "not a stream"}}]}),
            Reply(headers=SSE, body=b""),
            Reply(headers=SSE, body=DONE),
            Reply(headers=SSE, body=b"data: " + b"[" * 100_000 + b"\n\n"),
            Reply(headers=SSE, body=b"data: \xff\xfe\n\n"),
            Reply(headers={**SSE, "Content-Encoding": "gzip"}, body=b"\x1f\x8b"),
            stream(b"data: {broken\n\n"),
            stream("a text"),
            stream([1, 2]),
            stream(None),
            stream({"id": "x"}),
            stream({**chunk({}), "choices": None}),
            stream({**chunk({}), "choices": []}),
            stream({**chunk({}), "choices": ["text"]}),
            stream(chunk({"content": None}, finish="stop")),
            stream(chunk({"content": None}, finish="length")),
            stream(chunk({"content": 5}, finish="stop")),
            stream(chunk({"content": ["a"]}, finish="stop")),
            stream(chunk({"tool_calls": "all"}, finish="tool_calls")),
            stream(chunk({"tool_calls": [{"function": {"name": TOOL}}]}, finish="tool_calls")),
            stream(chunk({"tool_calls": [5]}, finish="tool_calls")),
        ],
    )
    async def test_what_is_no_answer_is_reported_as_such(self, engine: Engine, nonsense: Reply) -> None:
        result, server = await asked(engine, nonsense)
        assert result.reason == "bad-response"
        assert result.events == []
        assert len(server.requests) == 1

    @pytest.mark.parametrize(
        "withheld",
        [
            says("A lo", finish="content_filter"),
            stream(chunk({}, finish="content_filter")),
            stream(chunk({"refusal": PROVIDER_WORDS}), chunk({}, finish="stop")),
        ],
    )
    async def test_a_withheld_answer_is_no_answer(self, engine: Engine, withheld: Reply) -> None:
        result, _ = await asked(engine, withheld)
        assert result.reason == "content-filter"

    async def test_an_answer_that_stopped_at_the_models_limit_says_so(self, engine: Engine) -> None:
        result, _ = await asked(engine, says("A loop repeats", finish="length"))
        assert result.written.truncated
        assert result.text == "A loop repeats"

    async def test_a_careless_but_honest_server_is_understood(self, engine: Engine) -> None:
        opening = {"choices": [], "usage": {"prompt_tokens": "many", "completion_tokens": -1}}
        words = {"choices": [{"delta": {"content": "A loop", "reasoning_content": "hm"}}]}
        result, _ = await asked(engine, stream(opening, words, {"choices": [{"finish_reason": "eos"}]}))
        assert result.text == "A loop"
        assert result.written.usage.total_tokens == 0
        assert result.written.usage.calls == 1


class TestToolArguments:  # LLM-07
    @pytest.mark.parametrize(
        ("name", "arguments", "said"),
        [
            (TOOL, '{"query": "loo', "not valid JSON"),
            (TOOL, "", "not valid JSON"),
            (TOOL, "null", "must be a JSON object"),
            (TOOL, "[]", "must be a JSON object"),
            (TOOL, json.dumps({"query": "Z" * 1_000_000}), "characters; the limit is"),
            (TOOL, '{"query": 5}', "query must be a non-empty string"),
            (TOOL, '{"query": "loops", "top_k": 99}', "top_k is 99"),
            (TOOL, '{"query": "loops", "book_id": "another"}', "Unknown arguments"),
            ("delete_book", '{"query": "loops"}', "no tool 'delete_book'"),
            ("Z" * 5_000, "{}", "no tool"),
        ],
    )
    async def test_a_wrong_call_is_reported_to_the_model_which_may_do_better(
        self, name: str, arguments: str, said: str
    ) -> None:
        book = Searches()
        replies = [tool_calls((name, arguments), piece=20_000), searches("loops"), GOOD]
        async with scripted(*replies) as server, model_client(server.url) as client:
            result = await outcome(AgentAnswerer(client), task(retrieve=book))
        assert result.text == "A loop repeats [1]."
        assert result.searches == ["loops"]
        assert [query for query, *_ in book.asked] == ["loops"]
        error = json.loads(server.requests[1].json["messages"][-1]["content"])
        assert said in error["error"]
        assert error["query"] == ("loops" if name == TOOL and '"loops"' in arguments else "")
        assert server.requests[1].body.count(b"Z") <= 200

    async def test_a_search_that_fails_is_reported_to_the_model(self) -> None:
        async def away(query: str, top_k: int, threshold: float) -> tuple[()]:
            raise IndexUnavailable("The index is being rebuilt.")

        async with scripted(searches("loops"), GOOD) as server, model_client(server.url) as client:
            result = await outcome(AgentAnswerer(client), task(retrieve=away))
        assert result.written
        reply = json.loads(server.requests[1].json["messages"][-1]["content"])
        assert reply == {"error": "The index is being rebuilt.", "query": "loops"}

    async def test_a_search_that_takes_too_long_is_reported_with_its_query(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def hang(query: str, top_k: int, threshold: float) -> tuple[()]:
            await anyio.sleep_forever()
            return ()

        monkeypatch.setattr(agent, "TOOL_SECONDS", 0.05)
        async with scripted(searches("loops"), GOOD) as server, model_client(server.url) as client:
            await outcome(AgentAnswerer(client), task(retrieve=hang))
        error = json.loads(server.requests[1].json["messages"][-1]["content"])
        assert ("timed out" in error["error"], error["query"]) == (True, "loops")

    async def test_a_search_that_hangs_ends_with_the_deadline(self) -> None:
        async def hang(query: str, top_k: int, threshold: float) -> tuple[()]:
            await anyio.sleep_forever()
            return ()

        async with scripted(searches("loops")) as server, model_client(server.url) as client:
            result = await outcome(AgentAnswerer(client), task(retrieve=hang, within=0.3))
        assert result.reason == "timeout"


class TestLoop:  # LLM-08
    async def test_an_agent_that_never_stops_searching_is_stopped(self) -> None:
        numbers = count()
        book = Searches()

        def obey(request: Request) -> Reply:
            return searches(f"topic {next(numbers)}")

        async with answering(obey) as server, model_client(server.url) as client:
            result = await outcome(AgentAnswerer(client), task(retrieve=book))
        assert result.reason == "agent-loop-limit"
        assert len(server.requests) == MAX_TURNS == 8
        assert len(book.asked) <= MAX_TURNS

    async def test_the_same_call_again_and_again_is_stopped_too(self) -> None:
        async with answering(lambda request: searches("loops")) as server, model_client(server.url) as client:
            result = await outcome(AgentAnswerer(client), task())
        assert result.reason == "agent-loop-limit"
        assert len(server.requests) == MAX_TURNS


class TestManyCalls:  # LLM-09
    async def test_of_fifty_calls_in_one_turn_eight_are_made_two_at_a_time(self) -> None:
        book = Searches()
        many = searches(*[f"topic {number}" for number in range(50)])
        async with scripted(many, GOOD) as server, model_client(server.url) as client:
            result = await outcome(AgentAnswerer(client), task(retrieve=book))
        assert result.written
        assert len(book.asked) == CALLS_PER_TURN == 8
        assert book.most_at_once == 2
        assert result.searches == [f"topic {number}" for number in range(8)]
        replies = [m for m in server.requests[1].json["messages"] if m["role"] == "tool"]
        assert len(replies) == 50
        assert sum("The limit is 8 searches" in m["content"] for m in replies) == 42
        assert json.loads(replies[49]["content"])["query"] == "topic 49"


class TestEndless:  # LLM-10
    async def test_an_answer_of_ten_megabytes_is_cut_and_the_rest_not_read(self, engine: Engine) -> None:
        sent = 0

        def pour() -> Iterator[object]:
            nonlocal sent
            for _ in range(1_000):
                sent += 10_000
                yield chunk({"content": "x" * 10_000})

        result, _ = await asked(engine, dripping(pour(), pause=0.0))
        assert len(result.text) == TEXT_MAX == 65_536
        assert result.written.truncated
        assert sent < 10_000_000

    async def test_an_answer_of_ten_megabytes_in_one_chunk_is_no_answer(self, engine: Engine) -> None:
        result, _ = await asked(engine, says("x" * 10_000_000))
        assert result.reason == "bad-response"

    @pytest.mark.parametrize("status", [200, 500, 401])
    async def test_a_body_that_never_ends_is_not_read_for_ever(self, engine: Engine, status: int) -> None:
        endless = [Reply(status=status, body=repeat(b"x" * 65_536)) for _ in range(ATTEMPTS if status == 500 else 1)]
        result, _ = await asked(engine, *endless)
        assert result.reason == {200: "bad-response", 500: "server-error", 401: "unauthorized"}[status]

    async def test_an_endless_answer_without_words_is_not_read_for_ever(self, engine: Engine) -> None:
        thinking = chunk({"reasoning_content": "hm " * 20_000})
        result, _ = await asked(engine, dripping(repeat(thinking), pause=0.0))
        assert result.reason == "bad-response"


class TestUnauthorized:  # LLM-11
    @pytest.mark.parametrize("status", [401, 403])
    async def test_a_refused_key_is_not_tried_again_and_nobody_reads_it(
        self, engine: Engine, status: int, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.DEBUG)
        result, server = await asked(engine, refuses(status))
        assert result.reason == "unauthorized"
        assert len(server.requests) == 1
        assert result.error is not None
        assert "OPENAI_API_KEY" in result.error.advice
        shown = "".join(traceback.format_exception(result.error)) + result.error.message + result.error.advice
        logged = caplog.text + "".join(str(vars(record)) for record in caplog.records)
        for secret in (KEY, PROVIDER_WORDS):
            assert secret not in shown
            assert secret not in logged
        lines = [record for record in caplog.records if record.getMessage() == "model.unauthorized"]
        assert [line.levelname for line in lines] == ["ERROR"]

    @pytest.mark.parametrize("reply", [refuses(400), refuses(404), stream({"error": {"message": PROVIDER_WORDS}})])
    async def test_no_error_carries_the_words_of_the_service(self, engine: Engine, reply: Reply) -> None:
        result, _ = await asked(engine, reply, *([reply] * 2 if reply.status == 200 else []))
        assert result.error is not None
        assert PROVIDER_WORDS not in "".join(traceback.format_exception(result.error))


class TestContextOverflow:  # LLM-13
    HISTORY = tuple(
        message(*m) for m in [("user", "old?"), ("assistant", "old."), ("user", "new?"), ("assistant", "new.")]
    )

    async def test_a_prompt_that_is_too_long_is_shortened_once(self) -> None:
        found = evidence(*[passage(f"Fact {n}.", number=n, title=f"loops-{n}") for n in range(1, 5)])
        async with scripted(OVERFLOWS, GOOD) as server, model_client(server.url) as client:
            result = await outcome(DirectAnswerer(client), task(evidence=found, history=self.HISTORY))
        assert result.written
        first, second = (request.json["messages"] for request in server.requests)
        assert [m["content"] for m in second[1:3]] == ["new?", "new."]
        assert "Fact 4." in first[-1]["content"]
        assert "Fact 3." not in second[-1]["content"]
        assert second[-1]["content"].endswith("USER QUESTION: What is a loop?")

    async def test_an_agents_prompt_keeps_the_question_and_the_better_results(self) -> None:
        async def four(query: str, top_k: int, threshold: float) -> Any:
            return tuple(passage(f"Fact {number}.", number=number) for number in range(1, 5))

        async with scripted(searches("loops"), OVERFLOWS, GOOD) as server, model_client(server.url) as client:
            result = await outcome(AgentAnswerer(client), task(retrieve=four, history=self.HISTORY))
        assert result.written
        messages = server.requests[2].json["messages"]
        assert [m["role"] for m in messages] == ["system", "user", "assistant", "tool"]
        assert messages[1]["content"] == "What is a loop?"
        assert json.loads(messages[3]["content"])["total_results"] == 2

    @pytest.mark.parametrize(
        "overflow",
        [
            OVERFLOWS,
            refuses(413),
            refuses(400, message="This model's maximum context length is 8192 tokens."),
            Reply(status=400, json={"error": {"type": "exceed_context_size_error", "message": "too large"}}),
        ],
    )
    async def test_one_that_is_still_too_long_is_given_up(self, engine: Engine, overflow: Reply) -> None:
        result, server = await asked(engine, overflow, overflow)
        assert result.reason == "context-overflow"
        assert len(server.requests) == 2

    async def test_shortening_is_one_of_the_three_attempts(self, engine: Engine) -> None:
        result, server = await asked(engine, BROKEN, BROKEN, OVERFLOWS)
        assert result.reason == "context-overflow"
        assert len(server.requests) == 3

    async def test_another_wrong_request_is_not_shortened(self, engine: Engine) -> None:
        result, server = await asked(engine, refuses(400))
        assert result.reason == "bad-response"
        assert len(server.requests) == 1


class TestBreaker:  # LLM-15
    async def test_a_failing_service_is_left_alone_but_for_one_probe_per_cool_down(self, engine: Engine) -> None:
        time, broken = StoppedTime(), [refuses(401)] * FAILURES
        breaker = Breaker(time.clock)
        async with (
            scripted(*broken, refuses(401), GOOD, GOOD) as server,
            model_client(server.url, by(time), breaker) as client,
        ):

            async def ask() -> str:
                result = await outcome(engine(client), task(deadline=time.now + 60))
                return result.reason if result.error else result.text

            assert [await ask() for _ in range(FAILURES)] == ["unauthorized"] * FAILURES
            assert [await ask() for _ in range(3)] == ["circuit-open"] * 3
            time.now += COOL_DOWN
            assert [await ask() for _ in range(3)] == ["unauthorized", "circuit-open", "circuit-open"]
            time.now += COOL_DOWN
            assert [await ask() for _ in range(2)] == ["A loop repeats [1]."] * 2
        assert len(server.requests) == FAILURES + 3

    @pytest.mark.parametrize("harmless", [OVERFLOWS, stream(chunk({}, finish="content_filter"))])
    async def test_a_service_that_works_is_not_left_alone(self, engine: Engine, harmless: Reply) -> None:
        async with answering(lambda request: harmless) as server, model_client(server.url) as client:
            reasons = {(await outcome(engine(client), task())).reason for _ in range(FAILURES + 2)}
        assert reasons <= {"context-overflow", "content-filter"}
        assert len(server.requests) >= FAILURES + 2

    async def test_a_service_that_hangs_is_left_alone_and_one_for_which_there_was_no_time_is_not(
        self, engine: Engine
    ) -> None:
        async def at_once(seconds: float) -> None:
            pass

        async def reasons(timeouts: ModelTimeouts, within: float) -> set[str]:
            async with (
                answering(lambda request: Reply(fault="hang")) as server,
                model_client(server.url, timeouts) as client,
            ):
                return {(await outcome(engine(client), task(within=within))).reason for _ in range(FAILURES + 1)}

        impatient = ModelTimeouts(first_chunk=0.02, next_chunk=0.02, sleep=at_once)
        assert await reasons(impatient, within=10) == {"timeout", "circuit-open"}
        assert await reasons(ModelTimeouts(), within=0.05) == {"timeout"}


class Egress:
    """Every address this process connects to or looks up while it watches."""

    def __init__(self) -> None:
        self.seen: set[str] = set()
        self._watching = True
        sys.addaudithook(self._note)

    def stop(self) -> None:
        self._watching = False  # a hook cannot be taken away

    def _note(self, name: str, details: tuple[Any, ...]) -> None:
        if not self._watching:
            return
        if name == "socket.connect" and isinstance(details[1], tuple):
            self.seen.add(f"{details[1][0]}:{details[1][1]}")
        elif name == "socket.getaddrinfo":
            self.seen.add(f"{details[0]}:{details[1]}")


class TestEgress:  # LLM-16
    async def test_nothing_is_sent_anywhere_but_to_the_configured_address(
        self, engine: Engine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", KEY)  # with it the SDK would send its traces
        moved = Reply(status=307, headers={"Location": "http://127.0.0.2:9/elsewhere"})
        replies = [moved, GOOD, refuses(401), *([searches("loops"), GOOD] if engine is AgentAnswerer else [])]
        egress, threads = Egress(), {thread.name for thread in threading.enumerate()}
        try:
            async with scripted(*replies) as server, model_client(server.url) as client:
                for _ in range(len(replies) - (engine is AgentAnswerer)):
                    await outcome(engine(client), task())
        finally:
            egress.stop()
        assert egress.seen == {f"{server.host}:{server.port}"}
        began = {thread.name for thread in threading.enumerate()} - threads
        assert all(name.startswith(("asyncio_", "AnyIO")) for name in began), began

    async def test_the_service_is_not_asked_to_keep_what_it_is_sent(self, engine: Engine) -> None:
        _, server = await asked(engine, GOOD)
        sent = server.requests[0].json
        assert set(sent) <= {"model", "messages", "stream", "stream_options", "temperature", "tools"}


class TestGuardrails:  # LLM-17
    LONG = "A loop repeats. " * 60

    @staticmethod
    def trips(text: str) -> str | None:
        return "no"

    @staticmethod
    def fails(text: str) -> str | None:
        raise LookupError("the list of words is gone")

    async def guarded(self, *replies: Reply, **checks: Any) -> Outcome:
        async with scripted(*replies) as server, model_client(server.url) as client:
            return await outcome(AgentAnswerer(client, **checks), task(history=TestContextOverflow.HISTORY))

    async def test_a_question_that_may_not_be_asked_is_never_sent(self) -> None:
        seen: list[str] = []

        def check(text: str) -> str | None:
            seen.append(text)
            return "orders instead of a question"

        result = await self.guarded(input_check=check)
        assert result.reason == "guardrail-input"
        assert seen == ["What is a loop?"]

    async def test_a_short_answer_that_may_not_be_shown_is_not(self) -> None:
        result = await self.guarded(says("Bad ", "words"), output_check=self.trips)
        assert result.reason == "guardrail-output"
        assert result.text == ""

    async def test_a_long_answer_that_may_not_be_shown_ends_in_an_error(self) -> None:
        result = await self.guarded(says(self.LONG), output_check=self.trips)
        assert result.reason == "guardrail-output"
        assert result.text == self.LONG

    async def test_the_whole_answer_is_checked_once(self) -> None:
        seen: list[str] = []
        result = await self.guarded(
            searches("loops", before="Let me see."), says("A ", "loop"), output_check=seen.append
        )
        assert result.text == "A loop"
        assert seen == ["A loop"]

    async def test_a_check_of_answers_that_fails_lets_nothing_pass(self) -> None:
        result = await self.guarded(says("A loop"), output_check=self.fails)
        assert result.reason == "guardrail-output"

    async def test_a_check_of_questions_that_fails_lets_them_pass(self, caplog: pytest.LogCaptureFixture) -> None:
        result = await self.guarded(says("A loop"), input_check=self.fails)
        assert result.text == "A loop"
        assert "guardrail.failed" in caplog.text
