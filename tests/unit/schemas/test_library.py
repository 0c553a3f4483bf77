"""The objects of the Python library: every rule and every format, byte for byte."""

import warnings
from dataclasses import FrozenInstanceError
from datetime import UTC
from typing import Any
from uuid import UUID

import pytest

from bookwise.domain.errors import InvalidInput
from bookwise.domain.threads import ThreadMessage
from bookwise.schemas.library import (
    Conversation,
    Message,
    RetrievalContext,
    RetrievalResult,
    ValidationResult,
    thread_messages,
)
from tests.support.answers import THREAD_ID, URL, evidence, passage, thread
from tests.support.builders import NOON

SYSTEM = Message("system", "Answer from the book.", NOON)
CALL = {"id": "call_1", "type": "function", "function": {"name": "retrieve_documentation", "arguments": "{}"}}
USER = Message("user", "Why?", NOON)
REQUEST = Message("assistant", "", NOON, tool_calls=[CALL])
RESULT = Message("tool", "[]", NOON, tool_call_id="call_1", name="retrieve_documentation")
ANSWER = Message("assistant", "Because.", NOON)
RESULTS = [
    RetrievalResult(rank=1, score=0.912, source_url="https://a.example/x#y", content="Nodes talk."),
    RetrievalResult(rank=2, score=0.8, source_url="b.md", content="So."),
]


def found(*scores: float, **other: Any) -> RetrievalContext:
    chunks = tuple(RetrievalResult.of(passage(number, score)) for number, score in enumerate(scores, 1))
    fields = {"query": "Why?", "chunks": chunks, "total_found": len(chunks), "query_time_ms": 1.5}
    return RetrievalContext.model_validate(fields | other)


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


def test_a_conversation_made_with_more_than_a_hundred_messages_warns_at_once() -> None:
    with pytest.warns(UserWarning, match="125 messages") as caught:
        made = Conversation(messages=[SYSTEM, *[USER, ANSWER] * 62])
    assert (len(caught), len(made.messages)) == (1, 125)
    assert caught[0].filename == __file__, "the warning points to the caller"


def test_messages_are_given_to_openai_in_its_own_format() -> None:
    response = Conversation(messages=[SYSTEM, USER, REQUEST, RESULT, ANSWER])
    assert response.to_openai_messages() == [
        {"role": "system", "content": "Answer from the book."},
        {"role": "user", "content": "Why?"},
        {"role": "assistant", "content": "", "tool_calls": [CALL]},
        {"role": "tool", "content": "[]", "tool_call_id": "call_1", "name": "retrieve_documentation"},
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
    assert RetrievalContext(query="Why?", results=RESULTS).format_for_agent() == (
        "[1] Source: https://a.example/x#y\n"
        "    Score: 0.91\n"
        "    Content: Nodes talk.\n"
        "\n"
        "[2] Source: b.md\n"
        "    Score: 0.80\n"
        "    Content: So.\n"
    )


def test_sources_are_formatted_as_a_footer() -> None:
    assert RetrievalContext(query="Why?", results=RESULTS).format_sources_footer() == (
        "\n---\n**Sources:**\n[1] https://a.example/x#y (score: 0.91)\n[2] b.md (score: 0.80)"
    )


def test_nothing_retrieved_is_said_to_the_agent_and_has_no_footer() -> None:
    empty = RetrievalContext(query="Why?", results=[])
    assert empty.format_for_agent() == "No relevant content found in the book."
    assert empty.format_sources_footer() == ""
    assert (empty.filter_applied, empty.retrieved_at.tzinfo) == (None, UTC)


def test_evidence_becomes_a_context() -> None:
    response = RetrievalContext.of(evidence(0.9, 0.8), filter_applied="ros2")
    assert (response.query, response.filter_applied) == ("How do nodes talk?", "ros2")
    assert response.results == response.chunks
    assert response.results[1] == RetrievalResult.of(passage(2, 0.8), rank=2)


def test_a_passage_becomes_a_result_with_all_its_fields() -> None:
    made = RetrievalResult.of(passage(4, 0.8), rank=2, query_id="q1", quote="Node 4")
    assert (made.rank, made.number, made.query_id, made.quote, made.chunk_index) == (2, 4, "q1", "Node 4", 0)
    assert made.text == made.content == made.chunk_text == "Node 4 talks to other nodes over named topics."
    assert made.score == made.similarity_score == 0.8
    assert (made.page_title, made.section_heading, made.section) == ("Nodes", "Talking", "Talking")
    assert (made.source_url, made.page_url, made.module_name) == (f"{URL}#talking", f"{URL}#talking", "main")
    assert (made.breadcrumb, made.chunk_id) == ("Part One › ROS 2", "chunk-4")
    expected = {"number": 4, "chunk_id": "chunk-4", "module": "main", "chapter": 1, "lesson": 1, "cosine": 0.4}
    assert made.metadata.items() >= expected.items()


@pytest.mark.parametrize(
    "fields",
    [
        {"rank": 1, "score": 0.5, "source_url": "https://a.example/x", "content": "So."},
        {"rank": 1, "similarity_score": 0.5, "source_url": "https://a.example/x", "chunk_text": "So."},
        {"score": 0.5, "page_url": "https://a.example/x", "text": "So."},
    ],
)
def test_a_result_can_be_made_with_the_names_of_each_face(fields: dict[str, Any]) -> None:
    made = RetrievalResult(**fields)
    assert (made.text, made.score, made.rank) == ("So.", 0.5, 1)
    assert made.page_url == made.source_url == "https://a.example/x"


def test_a_result_at_the_top_of_an_unpublished_book_has_no_breadcrumb_but_a_file() -> None:
    made = RetrievalResult.of(passage(url="", breadcrumb=(), section_title=None), rank=1)
    assert (made.breadcrumb, made.section_heading, made.page_url) == (None, None, "")
    assert made.source_url.startswith("nodes.md")
    assert RetrievalResult(score=0.5, source_url="nodes.md", text="So.").page_url == ""


@pytest.mark.parametrize(("field", "value"), [("score", -0.01), ("score", 1.01), ("chunk_index", -1)])
def test_a_search_result_outside_its_bounds_is_refused(field: str, value: float) -> None:
    with pytest.raises(InvalidInput, match=field):
        RetrievalResult.model_validate(RetrievalResult.of(passage()).model_dump() | {field: value})


@pytest.mark.parametrize(("score", "relevant"), [(0.3, True), (0.2999, False), (1.0, True), (0.0, False)])
def test_results_are_relevant_from_a_first_score_of_three_tenths(score: float, relevant: bool) -> None:
    assert found(score, 0.0).has_relevant_results is relevant
    with pytest.raises(InvalidInput, match="has_relevant_results"):
        found(score, has_relevant_results=not relevant)


def test_nothing_found_is_nothing_relevant() -> None:
    assert found().has_relevant_results is False


def test_the_least_relevance_can_be_set() -> None:
    assert found(0.6, min_relevance_score=0.6).has_relevant_results is True
    assert found(0.6, min_relevance_score=0.61).has_relevant_results is False


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"total_found": 1}, "total_found"),
        ({"query_time_ms": -0.1}, "query_time_ms"),
        ({"min_relevance_score": 1.01}, "min_relevance_score"),
    ],
)
def test_a_context_that_does_not_add_up_is_refused(changed: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        found(0.9, 0.8, **changed)


def test_the_best_chunk_comes_first() -> None:
    with pytest.raises(InvalidInput, match="ordered by score"):
        found(0.2, 0.9)
    assert [chunk.score for chunk in RetrievalContext.of(evidence(0.2, 0.9)).chunks] == [0.9, 0.2]


def test_evidence_becomes_a_context_and_is_read_back_unchanged() -> None:
    context = RetrievalContext.of(evidence(0.5, 0.4), min_relevance=0.6)
    assert (context.query, context.total_found, context.query_time_ms) == ("How do nodes talk?", 2, 7.5)
    assert context.has_relevant_results is False
    assert RetrievalContext.model_validate_json(context.model_dump_json()) == context


def test_a_conversation_is_read_as_questions_and_answers() -> None:
    stored = ThreadMessage(role="assistant", content="Stored.", timestamp=NOON, confidence=0.9)
    cut = Message("assistant", "Half", NOON, complete=False)
    turns = thread_messages([SYSTEM, USER, REQUEST, RESULT, ANSWER, USER, cut, USER, stored])
    assert [(turn.role, turn.content, turn.complete) for turn in turns] == [
        ("user", "Why?", True),
        ("assistant", "Because.", True),
        ("user", "Why?", True),
        ("assistant", "Half", False),
        ("user", "Why?", True),
        ("assistant", "Stored.", True),
    ]
    assert turns[-1] is stored


def test_a_validation_result_says_what_was_asked_and_whether_it_passed() -> None:
    made = ValidationResult(question="Why?", kind="answerable", passed=False, reason="refused", outcome="refused")
    assert (made.confidence, made.similarity, made.sources) == (None, 0.0, ())
    with pytest.raises(InvalidInput, match="question: must not be empty"):
        ValidationResult(question=" ", kind="answerable", passed=True, outcome="answered")
    with pytest.raises(InvalidInput, match="outcome"):
        ValidationResult(question="Why?", kind="answerable", passed=True, outcome="done")
