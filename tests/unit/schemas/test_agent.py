"""The terminal agent's shapes: configuration, the five steps of a turn, the tool's response."""

import json
from dataclasses import replace
from datetime import UTC
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from bookwise.answering.prompts import AGENT_INSTRUCTIONS
from bookwise.domain.errors import InvalidInput, Misconfigured
from bookwise.schemas.agent import (
    RETRIEVAL_TOOL,
    AgentConfig,
    AgentConfiguration,
    ConversationState,
    ToolCall,
    ToolResponse,
    format_tool_response,
)
from bookwise.schemas.library import Message, RetrievalResult
from bookwise.settings import FIELDS, env_name
from tests.support.answers import THREAD_ID, evidence
from tests.support.builders import NOON

KEY = "sk-" + "k" * 37
PROMPT = """\
You are a helpful assistant that answers questions about a book using ONLY information retrieved from the \
documentation. You have access to a retrieval tool that searches the book content.

CRITICAL RULES:
- ALWAYS call the retrieve_documentation tool before answering any question
- ONLY use information from the retrieved chunks in your answers
- If no relevant chunks are found, respond with: "I don't have information about that in the book content"
- NEVER use external knowledge, make assumptions, or invent information
- Include source citations (page titles and section headings) in your answers
- For follow-up questions, you may reference previous answers but still call the tool if new information is needed

RESPONSE FORMAT:
- Answer the user's question directly
- Include inline citations like "(from Chapter 2: Installation)"
- If multiple sources are used, list all relevant chapters/sections"""
RESULT = RetrievalResult(
    query_id="q1",
    chunk_text="Before installing, ensure you have Python 3.11 or higher...",
    source_url="https://book.example/chapter-01",
    page_title="Chapter 1: Getting Started",
    section_heading="Prerequisites",
    breadcrumb=None,
    chunk_index=0,
    similarity_score=0.856,
    metadata={},
    rank=1,
)
RESPONSE = """\
{
  "results": [
    {
      "chunk_text": "Before installing, ensure you have Python 3.11 or higher...",
      "page_title": "Chapter 1: Getting Started",
      "section_heading": "Prerequisites",
      "source_url": "https://book.example/chapter-01",
      "similarity_score": 0.856,
      "rank": 1
    }
  ],
  "total_results": 1,
  "query": "What are the prerequisites?"
}"""


def changed_result(**changed: Any) -> RetrievalResult:
    fields = RESULT.model_dump(exclude={"text", "score"}) | {
        "chunk_text": RESULT.text,
        "similarity_score": RESULT.score,
    }
    return RetrievalResult(**fields | changed)


QUESTION = "What are the prerequisites?"
FOUND = ToolResponse([RESULT], 1, QUESTION)


def test_the_configuration_has_defaults_and_needs_no_key() -> None:
    config = AgentConfig()
    assert (config.model, config.openai_model, config.temperature, config.max_tokens) == (
        "gpt-4o-mini",
        "gpt-4o-mini",
        0.1,
        None,
    )
    assert (config.top_k, config.score_threshold, config.min_relevance_score) == (5, 0.0, 0.3)
    assert (config.max_conversation_turns, config.openai_api_key) == (50, None)
    assert config.system_prompt == PROMPT
    assert AgentConfiguration is AgentConfig


@pytest.mark.parametrize(
    "changed",
    [
        {"model": "gpt-4-turbo"},
        {"openai_model": "gpt-4-turbo"},
        {"temperature": 0.0},
        {"temperature": 1.0},
        {"max_tokens": 1},
        {"top_k": 1},
        {"top_k": 100},
        {"score_threshold": 1.0},
        {"min_relevance_score": 1.0},
        {"max_conversation_turns": 1},
        {"system_prompt": "x"},
        {"openai_api_key": KEY},
    ],
)
def test_the_configuration_reaches_its_bounds(changed: dict[str, Any]) -> None:
    [(name, value)] = changed.items()
    assert getattr(AgentConfig(**changed), name) == value


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"model": ""}, "model"),
        ({"openai_model": " "}, "model"),
        ({"model": "gpt 4"}, "gpt 4"),
        ({"system_prompt": ""}, "prompt"),
        ({"system_prompt": " \n"}, "prompt"),
        ({"temperature": -0.01}, "temperature"),
        ({"temperature": 1.01}, "temperature"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"top_k": 0}, "top_k"),
        ({"top_k": 101}, "top_k"),
        ({"score_threshold": -0.01}, "score_threshold"),
        ({"score_threshold": 1.01}, "score_threshold"),
        ({"min_relevance_score": -0.01}, "min_relevance_score"),
        ({"min_relevance_score": 1.01}, "min_relevance_score"),
        ({"max_conversation_turns": 0}, "max_conversation_turns"),
        ({"openai_api_key": ""}, "OPENAI_API_KEY"),
        ({"openai_api_key": KEY[:-1]}, "not an OpenAI key"),
        ({"openai_api_key": "pk-" + "k" * 37}, "not an OpenAI key"),
        ({"openai_api_key": "", "base_url": "http://localhost:8080/v1"}, "OPENAI_API_KEY"),
        ({"openai_api_key": "mine", "base_url": "https://API.openai.com/v1/"}, "not an OpenAI key"),
        ({"tokens": 1}, "tokens"),
    ],
)
def test_a_configuration_outside_its_bounds_is_refused(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(Misconfigured, match=said):
        AgentConfig(**changed)


def test_another_endpoint_takes_a_key_of_any_form() -> None:
    config = AgentConfig(openai_api_key="mine", base_url="https://api.openai.com.example/v1")
    assert config.openai_api_key == "mine"


def test_the_key_is_never_shown() -> None:
    assert KEY not in repr(AgentConfig(openai_api_key=KEY))
    for wrong in ({"openai_api_key": "pk-secret"}, {"openai_api_key": "pk-secret", "top_k": 0}):
        with pytest.raises(Misconfigured) as caught:
            AgentConfig(**wrong)  # type: ignore[arg-type]
        assert "pk-secret" not in caught.value.message + caught.value.advice


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder and an environment without settings."""
    for field in FIELDS:
        monkeypatch.delenv(env_name(field), raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_configuration_comes_from_the_environment(place: Path) -> None:
    assert AgentConfig.from_env() == AgentConfig()
    (place / ".env").write_text(
        "OPENAI_API_KEY=mine\nOPENAI_MODEL=m\nOPENAI_BASE_URL=http://localhost:1/v1\nAGENT_TOP_K=7\n"
        "AGENT_SCORE_THRESHOLD=0.25\nAGENT_MAX_TURNS=9\nMIN_RELEVANCE_SCORE=0.5\nBOOKWISE_MAX_TOKENS=99\n"
        "BOOKWISE_TEMPERATURE=0.3\n"
    )
    assert AgentConfig.from_env() == AgentConfig(
        model="m",
        openai_api_key="mine",
        base_url="http://localhost:1/v1",
        top_k=7,
        score_threshold=0.25,
        max_conversation_turns=9,
        min_relevance_score=0.5,
        max_tokens=99,
        temperature=0.3,
    )


def test_a_wrong_value_in_the_environment_is_named(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_TOP_K", "many")
    with pytest.raises(Misconfigured, match="AGENT_TOP_K"):
        AgentConfig.from_env()


def test_a_configuration_overrides_only_the_settings_it_names(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_TOP_K", "7")
    monkeypatch.setenv("OPENAI_MODEL", "other")
    settings = AgentConfig(openai_model="mine", max_tokens=5, openai_api_key=KEY).settings()
    assert (settings.openai_model, settings.max_tokens, settings.agent_top_k) == ("mine", 5, 7)
    assert settings.openai_api_key is not None
    assert settings.openai_api_key.get_secret_value() == KEY
    assert settings.temperature is None


def test_the_tool_is_described_to_the_model_as_agreed() -> None:
    assert RETRIEVAL_TOOL == {
        "type": "function",
        "function": {
            "name": "retrieve_documentation",
            "description": "Search the book documentation for relevant information based on a question or topic. "
            "Returns chunks of text from the book with metadata about their source.",
            "parameters": {
                "type": "object",
                "properties": {
                    "query": {
                        "type": "string",
                        "description": "The question or topic to search for in the documentation",
                    },
                    "top_k": {
                        "type": "integer",
                        "description": "Number of most relevant chunks to retrieve (default: 5)",
                        "default": 5,
                    },
                    "similarity_threshold": {
                        "type": "number",
                        "description": "Minimum similarity score for results (0.0-1.0, default: 0.0)",
                        "default": 0.0,
                    },
                },
                "required": ["query"],
            },
        },
    }


def test_results_are_written_for_the_agent_byte_for_byte() -> None:
    assert format_tool_response([RESULT], QUESTION) == RESPONSE
    assert FOUND.to_json() == RESPONSE


def test_no_result_is_an_empty_list() -> None:
    assert ToolResponse([], 0, "Why?").to_json() == '{\n  "results": [],\n  "total_results": 0,\n  "query": "Why?"\n}'


def test_a_failure_is_told_to_the_agent_with_its_query() -> None:
    failed = ToolResponse.failed("The index is away.", query="Why?")
    assert (failed.results, failed.total_results) == ([], 0)
    assert json.loads(failed.to_json()) == {"error": "The index is away.", "query": "Why?"}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"error": "Away."}, "no results"),
        ({"total_results": 0}, "total_results is 0"),
        ({"total_results": 2}, "total_results is 2"),
        ({"results": []}, "there are 0"),
        ({"results": [changed_result(chunk_text=" ")]}, "chunk_text"),
        ({"results": [changed_result(page_title="")]}, "page_title"),
        ({"results": [changed_result(source_url="")]}, "source_url"),
    ],
)
def test_a_tool_response_that_breaks_a_rule_is_refused(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        replace(FOUND, **changed)


@pytest.mark.parametrize(
    "changed",
    [{"similarity_score": -0.01}, {"similarity_score": 1.01}, {"similarity_score": float("nan")}, {"rank": 0}],
)
def test_a_result_outside_its_bounds_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=r"score|rank"):
        changed_result(**changed)


@pytest.mark.parametrize("score", [0.0, 1.0])
def test_similarity_reaches_its_bounds(score: float) -> None:
    assert ToolResponse([changed_result(similarity_score=score)], 1, "Why?")


def test_passages_become_a_tool_response_ranked_from_one() -> None:
    made = ToolResponse.of(evidence(0.9, 0.7).passages, query="Why?", query_id="q7")
    assert [(result.rank, result.query_id) for result in made.results] == [(1, "q7"), (2, "q7")]
    assert (made.total_results, made.query, made.error) == (2, "Why?", None)


def test_a_conversation_starts_with_the_system_prompt() -> None:
    state = ConversationState()
    assert [(message.role, message.content) for message in state.messages] == [("system", AGENT_INSTRUCTIONS)]
    assert (state.retrieval_history, state.turn_count, state.max_turns) == ([], 0, 20)
    assert state.started_at.tzinfo == UTC
    assert UUID(state.session_id).version == 4


def test_a_conversation_can_be_given_all_its_parts() -> None:
    system = Message(role="system", content="Answer.", timestamp=NOON)
    state = ConversationState(
        session_id=THREAD_ID, messages=[system], retrieval_history=[], started_at=NOON, turn_count=0
    )
    assert (state.session_id, state.messages, state.started_at) == (THREAD_ID, [system], NOON)
    assert (system.name, system.tool_calls) == (None, None)


def test_a_turn_goes_from_question_over_tool_to_answer() -> None:
    state = ConversationState()
    state.ask(QUESTION)
    state.record_tool_call(QUESTION, top_k=3)
    assert state.turn_count == 0
    state.tool_result(FOUND)
    state.answer("Python 3.11.")
    _, question, call, result, answer = state.messages
    assert (question.role, question.content) == ("user", QUESTION)
    assert (call.role, call.content) == ("assistant", "")
    assert call.tool_calls is not None
    assert call.tool_calls[0]["function"] == {
        "name": "retrieve_documentation",
        "arguments": '{"query": "What are the prerequisites?", "top_k": 3, "similarity_threshold": 0.0}',
    }
    assert (result.role, result.name, result.content) == ("tool", "retrieve_documentation", RESPONSE)
    assert result.tool_call_id == call.tool_calls[0]["id"] == "call_1"
    assert (answer.role, answer.content, answer.tool_calls) == ("assistant", "Python 3.11.", None)
    assert state.turn_count == 1


def test_the_history_keeps_how_well_each_retrieval_went() -> None:
    state = ConversationState()
    state.ask("Why?")
    for scores in ((0.9, 0.5), ()):
        state.record_tool_call("nodes")
        state.tool_result(ToolResponse.of(evidence(*scores).passages, query="nodes"))
    kept = [(c.tool_name, c.query, c.results_count, round(c.avg_similarity, 6)) for c in state.retrieval_history]
    assert kept == [("retrieve_documentation", "nodes", 2, 0.7), ("retrieve_documentation", "nodes", 0, 0.0)]
    assert all(isinstance(call, ToolCall) and call.timestamp.tzinfo == UTC for call in state.retrieval_history)


def test_a_retrieval_that_has_run_is_recorded_with_its_call() -> None:
    state = ConversationState()
    state.ask("Why?")
    state.record_retrieval(evidence(0.9).passages, query="nodes " * 400, top_k=100)
    state.answer("So", complete=False)
    _, _, call, result, answer = state.messages
    assert call.tool_calls is not None
    assert '"top_k": 20' in call.tool_calls[0]["function"]["arguments"]
    assert (json.loads(result.content)["total_results"], answer.complete) == (1, False)
    assert [record.results_count for record in state.retrieval_history] == [1]


def test_a_follow_up_may_be_answered_without_the_tool() -> None:
    state = ConversationState()
    for _ in range(2):
        state.ask("And?")
        state.answer("So.")
    assert (state.turn_count, len(state.messages)) == (2, 5)


@pytest.mark.parametrize("limit", [20, 2])
def test_a_question_past_the_last_turn_is_refused_with_what_to_do(limit: int) -> None:
    state = ConversationState(turn_count=limit - 1, max_turns=limit)
    state.ask("The last?")
    state.answer("Yes.")
    with pytest.raises(InvalidInput, match=f"limit of {limit} turns") as caught:
        state.ask("One more?")
    assert "new conversation" in caught.value.advice
    assert (state.turn_count, len(state.messages)) == (limit, 3)


def test_more_turns_can_be_allowed() -> None:
    assert ConversationState(turn_count=21, max_turns=21).turn_count == 21


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"session_id": "abc"}, "UUID"),
        ({"messages": []}, "start with a system message"),
        ({"messages": [Message("user", "Why?")]}, "start with a system message"),
        ({"messages": [Message("system", "x"), Message("assistant", "x")]}, "take turns"),
        ({"messages": [Message("system", "x"), Message("user", "x"), Message("user", "x")]}, "take turns"),
        ({"turn_count": -1}, "turn_count"),
        ({"turn_count": 21}, "between 0 and 20"),
        ({"max_turns": 0}, "max_turns"),
    ],
)
def test_a_state_that_breaks_a_rule_is_refused(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        ConversationState(**changed)


def test_a_step_out_of_order_is_refused_and_leaves_no_trace() -> None:
    state = ConversationState()
    with pytest.raises(InvalidInput, match="take turns"):
        state.answer("Because.")
    with pytest.raises(InvalidInput, match="take turns"):
        state.tool_result(FOUND)
    with pytest.raises(InvalidInput, match="take turns"):
        state.record_tool_call("nodes")
    state.ask("Why?")
    with pytest.raises(InvalidInput, match="take turns"):
        state.ask("Hello?")
    assert (len(state.messages), state.turn_count, state.retrieval_history) == (2, 0, [])


@pytest.mark.parametrize("text", ["", " \n"])
def test_an_empty_question_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="empty"):
        ConversationState().ask(text)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"query": " "}, "query"),
        ({"query": "x", "top_k": 0}, "top_k"),
        ({"query": "x", "top_k": 21}, "top_k"),
        ({"query": "x", "similarity_threshold": -0.01}, "similarity_threshold"),
        ({"query": "x", "similarity_threshold": 1.01}, "similarity_threshold"),
    ],
)
def test_a_tool_call_outside_its_bounds_is_refused(arguments: dict[str, Any], said: str) -> None:
    state = ConversationState()
    state.ask("Why?")
    with pytest.raises(InvalidInput, match=said):
        state.record_tool_call(**arguments)


def test_a_tool_call_reaches_its_bounds() -> None:
    for top_k, threshold in ((1, 0.0), (20, 1.0)):
        state = ConversationState()
        state.ask("Why?")
        state.record_tool_call("x", top_k=top_k, similarity_threshold=threshold)
        assert len(state.messages) == 3


def test_a_role_that_nobody_has_is_refused() -> None:
    with pytest.raises(InvalidInput, match="allowed: system, user, assistant, tool"):
        Message("robot", "x")  # type: ignore[arg-type]
