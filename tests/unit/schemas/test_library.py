"""The objects of the Python library: every rule and every format, byte for byte."""

import warnings
from dataclasses import FrozenInstanceError, replace
from datetime import UTC
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from bookwise.domain.answers import Answer
from bookwise.domain.errors import InvalidInput, Misconfigured
from bookwise.schemas.library import (
    AgentConfig,
    AgentResponse,
    Conversation,
    Message,
    RetrievalContext,
    RetrievalResult,
)
from bookwise.settings import FIELDS, env_name
from tests.support.answers import (
    MADE,
    THREAD_ID,
    URL,
    answered,
    blocked,
    evidence,
    interrupted,
    passage,
    refused,
    thread,
)
from tests.support.builders import NOON

SYSTEM = Message("system", "Answer from the book.", NOON)
CALL = {"id": "call_1", "type": "function", "function": {"name": "retrieve_documentation", "arguments": "{}"}}
USER = Message("user", "Why?", NOON)
REQUEST = Message("assistant", "", NOON, tool_calls=[CALL])
RESULT = Message("tool", "[]", NOON, tool_call_id="call_1")
ANSWER = Message("assistant", "Because.", NOON)
RESULTS = [RetrievalResult(1, 0.912, "https://a.example/x#y", "Nodes talk."), RetrievalResult(2, 0.8, "b.md", "So.")]


@pytest.mark.parametrize("role", ["user", "assistant", "system", "tool"])
def test_a_message_has_one_of_four_roles(role: Any) -> None:
    response = Message(role=role, content="x")
    assert (response.role, response.tool_calls, response.tool_call_id, response.timestamp.tzinfo) == (
        role,
        None,
        None,
        UTC,
    )


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"role": "human", "content": "x"}, "allowed: system, user, assistant, tool"),
        ({"role": "user", "content": ""}, "empty"),
        ({"role": "user", "content": " \n"}, "empty"),
        ({"role": "user", "content": "x", "tool_calls": [CALL]}, "tool_calls"),
        ({"role": "tool", "content": "x", "tool_calls": [CALL]}, "tool_calls"),
        ({"role": "system", "content": "x", "tool_calls": [CALL]}, "tool_calls"),
        ({"role": "assistant", "content": "x", "tool_call_id": "call_1"}, "tool_call_id"),
        ({"role": "user", "content": "x", "tool_call_id": "call_1"}, "tool_call_id"),
    ],
)
def test_a_message_that_breaks_a_rule_is_refused(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        Message(**fields)


@pytest.mark.parametrize("role", ["assistant", "system", "tool"])
def test_only_a_users_message_must_say_something(role: Any) -> None:
    assert Message(role=role, content="").content == ""


def test_a_message_never_changes() -> None:
    with pytest.raises(FrozenInstanceError):
        USER.content = "other"  # type: ignore[misc]


def test_a_conversation_begins_empty_with_an_id_a_time_and_a_model() -> None:
    response = Conversation()
    assert (response.messages, response.model, response.created_at.tzinfo) == ([], "gpt-4o-mini", UTC)
    assert UUID(response.id).version == 4
    assert Conversation().messages is not response.messages


def test_a_conversation_takes_turns_with_tool_calls_in_between() -> None:
    said = [SYSTEM, USER, REQUEST, RESULT, RESULT, REQUEST, RESULT, ANSWER, USER, ANSWER]
    one_by_one = Conversation()
    for message in said:
        one_by_one.add_message(message)
    assert one_by_one.messages == Conversation(messages=list(said)).messages == said


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ([USER], "start with a system message"),
        ([ANSWER], "start with a system message"),
        ([SYSTEM, ANSWER], "take turns"),
        ([SYSTEM, RESULT], "take turns"),
        ([SYSTEM, SYSTEM], "take turns"),
        ([SYSTEM, USER, USER], "take turns"),
        ([SYSTEM, USER, RESULT], "take turns"),
        ([SYSTEM, USER, REQUEST, ANSWER], "take turns"),
        ([SYSTEM, USER, REQUEST, USER], "take turns"),
        ([SYSTEM, USER, REQUEST, RESULT, USER], "take turns"),
        ([SYSTEM, USER, ANSWER, ANSWER], "take turns"),
    ],
)
def test_a_message_out_of_turn_is_refused_and_not_kept(said: list[Message], why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        Conversation(messages=said)
    kept = Conversation(messages=said[:-1])
    with pytest.raises(InvalidInput, match=why):
        kept.add_message(said[-1])
    assert kept.messages == said[:-1]


def test_a_conversation_id_is_a_uuid() -> None:
    assert Conversation(id=THREAD_ID).id == THREAD_ID
    with pytest.raises(InvalidInput, match="UUID"):
        Conversation(id="abc")


def test_each_message_past_the_hundredth_is_kept_with_a_warning() -> None:
    response = Conversation(messages=[SYSTEM, *[USER, ANSWER] * 49])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        response.add_message(USER)
    assert len(response.messages) == 100
    for count, message in ((101, ANSWER), (102, USER)):
        with pytest.warns(UserWarning, match=f"{count} messages") as caught:
            response.add_message(message)
        assert (len(caught), len(response.messages)) == (1, count)


def test_messages_are_given_to_openai_in_its_own_format() -> None:
    response = Conversation(messages=[SYSTEM, USER, REQUEST, RESULT, ANSWER])
    assert response.to_openai_messages() == [
        {"role": "system", "content": "Answer from the book."},
        {"role": "user", "content": "Why?"},
        {"role": "assistant", "content": "", "tool_calls": [CALL]},
        {"role": "tool", "content": "[]"},
        {"role": "assistant", "content": "Because."},
    ]


def test_a_stored_thread_becomes_a_conversation() -> None:
    response = Conversation.of(thread("What?", "That."), system_prompt="Answer.", model="other")
    assert (response.id, response.created_at, response.model) == (THREAD_ID, NOON, "other")
    assert [(m.role, m.content) for m in response.messages] == [
        ("system", "Answer."),
        ("user", "What?"),
        ("assistant", "That."),
    ]
    assert response.messages[2].timestamp == thread("What?", "That.").messages[1].timestamp


def test_retrieved_content_is_formatted_for_the_agent() -> None:
    assert RetrievalContext("Why?", RESULTS).format_for_agent() == (
        "[1] Source: https://a.example/x#y\n"
        "    Score: 0.91\n"
        "    Content: Nodes talk.\n"
        "\n"
        "[2] Source: b.md\n"
        "    Score: 0.80\n"
        "    Content: So.\n"
    )


def test_sources_are_formatted_as_a_footer() -> None:
    assert RetrievalContext("Why?", RESULTS).format_sources_footer() == (
        "\n---\n**Sources:**\n[1] https://a.example/x#y (score: 0.91)\n[2] b.md (score: 0.80)"
    )


def test_nothing_retrieved_is_said_to_the_agent_and_has_no_footer() -> None:
    empty = RetrievalContext("Why?", [])
    assert empty.format_for_agent() == "No relevant content found in the book."
    assert empty.format_sources_footer() == ""
    assert (empty.filter_applied, empty.retrieved_at.tzinfo) == (None, UTC)


def test_evidence_becomes_a_context() -> None:
    response = RetrievalContext.of(evidence(0.9, 0.8), filter_applied="ros2")
    assert (response.query, response.filter_applied) == ("How do nodes talk?", "ros2")
    assert response.results[1] == RetrievalResult(
        rank=2,
        score=0.8,
        source_url=f"{URL}#talking",
        content="Node 2 talks to other nodes over named topics.",
        number=2,
        page_title="Nodes",
        section="Talking",
        chunk_id="chunk-2",
    )


def test_a_chunk_of_an_unpublished_book_is_found_by_its_file() -> None:
    assert RetrievalResult.of(passage(url="", anchor=""), rank=1).source_url.startswith("nodes.md")


def test_a_response_is_shown_with_its_sources_below() -> None:
    response = AgentResponse("Because [1].", RESULTS, "test-model", 7, 5, NOON)
    assert response.format_with_sources() == (
        "Because [1].\n---\n**Sources:**\n[1] https://a.example/x#y (score: 0.91)\n[2] b.md (score: 0.80)"
    )


def test_a_response_without_sources_is_shown_as_it_is() -> None:
    assert AgentResponse("Because.", [], "test-model", 0, 0).format_with_sources() == "Because."


@pytest.mark.parametrize(
    ("changed", "said"), [({"content": ""}, "content"), ({"content": " "}, "content"), ({"tokens_used": -1}, "-1")]
)
def test_a_response_that_breaks_a_rule_is_refused(changed: dict[str, Any], said: str) -> None:
    response = AgentResponse("Because.", [], "test-model", 0, 0)
    with pytest.raises(InvalidInput, match=said):
        replace(response, **changed)


def test_the_footer_of_an_answer_keeps_the_numbers_that_the_text_cites() -> None:
    response = AgentResponse.of(answered(cites=(4, 2)))
    assert (response.model, response.tokens_used, response.retrieval_count) == ("test-model", 100, 5)
    assert [(source.rank, source.quote) for source in response.sources] == [
        (1, "Node 2 talks to other nodes"),
        (2, "Node 4 talks to other nodes"),
    ]
    assert response.format_with_sources() == (
        "Nodes talk over topics. [4] [2]\n---\n**Sources:**\n"
        f"[2] {URL}#talking (score: 0.90)\n[4] {URL}#talking (score: 0.88)"
    )


@pytest.mark.parametrize(
    ("answer", "content", "cited", "retrieved"),
    [
        (refused(0.4, 0.3), "The book does not say.", [], 2),
        (blocked(), "I only answer questions about the book.", [], 0),
        (interrupted(0.9, 0.8), "Nodes talk over [2]", [2], 2),
        (interrupted(), "Nodes talk over [2]", [], 0),
    ],
)
def test_every_kind_of_answer_becomes_a_response(
    answer: Answer, content: str, cited: list[int], retrieved: int
) -> None:
    response = AgentResponse.of(answer)
    assert (response.content, [source.number for source in response.sources]) == (content, cited)
    assert response.retrieval_count == retrieved


def test_an_answer_made_without_a_model_names_its_engine() -> None:
    assert (
        AgentResponse.of(replace(answered(), meta=replace(MADE, model="", engine="extractive"))).model == "extractive"
    )


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder and an environment without settings."""
    for field in FIELDS:
        monkeypatch.delenv(env_name(field), raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_configuration_comes_from_the_environment(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret-key")
    assert AgentConfig.from_env() == AgentConfig("secret-key", "gpt-4o-mini", 5, 0.0, 50)
    for name, value in {
        "OPENAI_MODEL": "other",
        "AGENT_TOP_K": "7",
        "AGENT_SCORE_THRESHOLD": "0.25",
        "AGENT_MAX_TURNS": "9",
    }.items():
        monkeypatch.setenv(name, value)
    assert AgentConfig.from_env() == AgentConfig("secret-key", "other", 7, 0.25, 9)
    assert "secret-key" not in repr(AgentConfig.from_env())


def test_a_missing_key_is_named_with_what_to_do(place: Path) -> None:
    with pytest.raises(Misconfigured, match="OPENAI_API_KEY") as caught:
        AgentConfig.from_env()
    assert ".env" in caught.value.advice


def test_a_wrong_value_in_the_environment_is_named(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret-key")
    monkeypatch.setenv("AGENT_TOP_K", "many")
    with pytest.raises(Misconfigured, match="AGENT_TOP_K"):
        AgentConfig.from_env()


@pytest.mark.parametrize(
    "changed", [{"top_k": 1}, {"top_k": 100}, {"score_threshold": 1.0}, {"max_conversation_turns": 1}]
)
def test_the_configuration_reaches_its_bounds(changed: dict[str, Any]) -> None:
    assert replace(AgentConfig("key"), **changed)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"openai_model": " "}, "model"),
        ({"top_k": 0}, "top_k"),
        ({"top_k": 101}, "top_k"),
        ({"score_threshold": -0.01}, "score_threshold"),
        ({"score_threshold": 1.01}, "score_threshold"),
        ({"max_conversation_turns": 0}, "max_conversation_turns"),
    ],
)
def test_the_configuration_stays_within_its_bounds(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(Misconfigured, match=said):
        replace(AgentConfig("key"), **changed)
