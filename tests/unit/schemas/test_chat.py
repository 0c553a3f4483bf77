"""The chat service's shapes: every bound, rule and format."""

import re
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from uuid import UUID

import pytest
from pydantic import ValidationError

from bookwise.domain.answers import Answer, Question
from bookwise.schemas.answers import RelatedLink
from bookwise.schemas.chat import (
    ChatRequest,
    ChatResponse,
    ChunkMetadata,
    ConfidenceMetrics,
    RetrievalReport,
    Source,
)
from bookwise.schemas.sessions import ConversationThread, HistoryMessage
from bookwise.schemas.wire import iso
from bookwise.text.shorten import shortened
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

REQUEST = {
    "message": "How do ROS 2 nodes communicate?",
    "session_id": THREAD_ID,
    "stream": False,
    "top_k": 5,
    "similarity_threshold": 0.7,
}
RESPONSE = {
    "response": "ROS 2 nodes communicate through a publish-subscribe mechanism using topics.",
    "confidence": 0.87,
    "sources": [
        {
            "chunk_text": "ROS 2 nodes use a distributed publish-subscribe architecture...",
            "similarity_score": 0.92,
            "chapter": "Chapter 3: Robot Operating System 2",
            "section": "3.2 ROS 2 Communication Patterns",
            "url": "https://example.com/textbook/chapter3#section3-2",
            "chunk_index": 15,
        }
    ],
    "session_id": THREAD_ID,
    "timestamp": "2025-12-17T14:23:45.123Z",
    "confidence_level": "high",
    "should_answer": True,
}
THREAD = {
    "thread_id": THREAD_ID,
    "messages": [
        {"role": "user", "content": "What is URDF?", "timestamp": "2025-12-17T14:20:00.000Z"},
        {
            "role": "assistant",
            "content": "URDF (Unified Robot Description Format) is an XML format for representing robot models...",
            "timestamp": "2025-12-17T14:20:02.150Z",
            "confidence": 0.91,
        },
        {"role": "user", "content": "Can you give an example?", "timestamp": "2025-12-17T14:21:00.000Z"},
    ],
    "created_at": "2025-12-17T14:20:00.000Z",
    "updated_at": "2025-12-17T14:21:00.000Z",
    "topic_summary": "Discussion about URDF robot description format and examples",
    "metadata": {"user_id": "user123", "tags": ["ros2", "urdf", "robotics"]},
}
METRICS = {
    "average_similarity": 0.87,
    "min_similarity": 0.78,
    "max_similarity": 0.94,
    "num_chunks": 5,
    "chunk_diversity": 0.23,
    "confidence_level": "high",
    "should_answer": True,
}
PLACE = {
    "chapter": "Chapter 3: Robot Operating System 2",
    "section": "3.2 ROS 2 Communication Patterns",
    "url": "https://example.com/textbook/chapter3#section3-2",
    "chunk_index": 15,
    "content_hash": "a1b2c3d4e5f6",
}
RETRIEVED = {
    "chunks": ["Nodes publish and subscribe.", "Topics are named channels."],
    "scores": [0.92, 0.85],
    "metadata": [PLACE, {**PLACE, "chunk_index": 16, "content_hash": "f6e5d4c3b2a1"}],
    "average_score": 0.885,
    "has_sufficient_context": False,
    "query_embedding": [0.012] * 1536,
}


def retrieved(count: int, score: float, **other: object) -> RetrievalReport:
    fields: dict[str, Any] = {
        "chunks": ["text"] * count,
        "scores": [score] * count,
        "metadata": [PLACE] * count,
        "average_score": score if count else 0.0,
        "has_sufficient_context": score >= 0.75 and count >= 3,
        "query_embedding": [0.5] * 1536,
    }
    return RetrievalReport(**(fields | other))


def test_a_full_request_is_read_and_written_unchanged() -> None:
    request = ChatRequest.model_validate(REQUEST)
    assert {key: value for key, value in request.model_dump(mode="json").items() if key in REQUEST} == REQUEST


def test_a_request_needs_only_a_message() -> None:
    request = ChatRequest(message="What is URDF?")
    assert (request.stream, request.top_k, request.similarity_threshold) == (False, 5, None)
    assert (request.book_id, request.engine) == (None, None)
    assert UUID(request.session_id).version == 4
    assert request.session_id != ChatRequest(message="What is URDF?").session_id


def test_a_session_id_of_null_begins_a_new_thread() -> None:
    assert UUID(ChatRequest.model_validate({"message": "Why?", "session_id": None}).session_id).version == 4


def test_a_message_is_stripped_before_it_is_measured() -> None:
    assert ChatRequest(message="  why?\n").message == "why?"
    assert len(ChatRequest(message=" " * 9 + "a" * 1000 + " " * 9).message) == 1000


@pytest.mark.parametrize("message", ["a", "a" * 1000])
def test_a_message_has_from_1_to_1000_characters(message: str) -> None:
    assert ChatRequest(message=message).message == message


@pytest.mark.parametrize("message", ["", " \n\t", "a" * 1001])
def test_a_message_outside_its_bounds_is_refused(message: str) -> None:
    with pytest.raises(ValidationError, match="message"):
        ChatRequest(message=message)


@pytest.mark.parametrize(
    "session_id",
    ["", "abc", "550e8400-e29b-11d4-a716-446655440000", "550e8400e29b41d4a716446655440000", 7],
)
def test_a_session_id_that_is_no_uuid_of_version_4_is_refused(session_id: object) -> None:
    with pytest.raises(ValidationError, match="version 4"):
        ChatRequest.model_validate({"message": "Why?", "session_id": session_id})


def test_a_session_id_in_capitals_is_the_same_session() -> None:
    assert ChatRequest(message="Why?", session_id=THREAD_ID.upper()).session_id == THREAD_ID


@pytest.mark.parametrize(("field", "value"), [("top_k", 1), ("top_k", 10), ("similarity_threshold", 0.0)])
def test_request_limits_are_inclusive(field: str, value: float) -> None:
    assert getattr(ChatRequest.model_validate({"message": "Why?", field: value}), field) == value


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("top_k", 0),
        ("top_k", 11),
        ("similarity_threshold", -0.01),
        ("similarity_threshold", 1.01),
        ("similarity_threshold", float("nan")),
        ("engine", "magic"),
        ("colour", "red"),
    ],
)
def test_a_request_outside_its_limits_is_refused(field: str, value: object) -> None:
    with pytest.raises(ValidationError, match=field):
        ChatRequest.model_validate({"message": "Why?", field: value})


def test_a_request_becomes_a_question_of_its_book_or_else_the_default_one() -> None:
    request = ChatRequest(message="Why?", top_k=3, similarity_threshold=0.5, engine="direct")
    assert request.question("book") == Question(text="Why?", book_id="book", top_k=3, threshold=0.5, engine="direct")
    assert request.question("book", default_top_k=7).top_k == 3


@pytest.mark.parametrize(("configured", "read"), [(1, 1), (7, 7), (10, 10), (100, 10)])
def test_a_request_without_top_k_reads_the_configured_number_within_the_bound_of_the_chat(
    configured: int, read: int
) -> None:
    assert ChatRequest(message="Why?").question("book", default_top_k=configured).top_k == read
    assert ChatRequest(message="Why?", book_id="mine").question("book").book_id == "mine"


def test_without_a_threshold_the_configured_one_decides() -> None:
    assert ChatRequest(message="Why?").question("book").threshold == 0.0
    assert ChatRequest(message="Why?").question("book", default_threshold=0.4).threshold == 0.4
    assert (
        ChatRequest(message="Why?", similarity_threshold=0.0).question("book", default_threshold=0.4).threshold == 0.0
    )


def test_the_metadata_of_a_request_is_a_small_object() -> None:
    assert ChatRequest(message="Why?", metadata={"tags": ["a"]}).metadata == {"tags": ["a"]}
    for wrong in (["a"], "a", {"note": "x" * 4_000}):
        with pytest.raises(ValidationError, match="metadata"):
            ChatRequest.model_validate({"message": "Why?", "metadata": wrong})


def test_a_full_response_is_read_and_written_unchanged() -> None:
    response = ChatResponse.model_validate(RESPONSE)
    written = response.model_dump(mode="json")
    assert written["sources"][0].items() >= RESPONSE["sources"][0].items()  # type: ignore[index]
    assert {key: written[key] for key in RESPONSE if key != "sources"}.items() <= RESPONSE.items()
    assert response.outcome == "answered"
    assert ChatResponse.model_validate_json(response.model_dump_json()) == response


def test_a_response_is_stamped_with_the_time_in_utc_to_the_millisecond() -> None:
    response = ChatResponse.model_validate({key: value for key, value in RESPONSE.items() if key != "timestamp"})
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", response.timestamp)
    assert abs(datetime.fromisoformat(response.timestamp) - datetime.now(UTC)) < timedelta(minutes=1)


def test_a_time_of_another_zone_is_written_in_utc() -> None:
    assert iso(datetime(2025, 12, 17, 15, 23, 45, 123456, tzinfo=timezone(timedelta(hours=1)))) == RESPONSE["timestamp"]
    moved = ChatResponse.model_validate(RESPONSE | {"timestamp": "2025-12-17T15:23:45.123+01:00"})
    assert moved.timestamp == RESPONSE["timestamp"]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"response": ""}, "response"),
        ({"response": " \n"}, "response"),
        ({"confidence": -0.01}, "confidence"),
        ({"confidence": 1.01}, "confidence"),
        ({"timestamp": "yesterday"}, "timestamp"),
        ({"timestamp": "2025-12-17T14:23:45"}, "time zone"),
        ({"session_id": "abc"}, "session_id"),
        ({"session_id": None}, "session_id"),
        ({"confidence_level": "certain"}, "confidence_level"),
        ({"should_answer": False}, "should_answer must be True"),
        ({"confidence_level": "insufficient"}, "should_answer must be False"),
        ({"confidence": 0.82}, "confidence_level must be 'medium'"),
        ({"confidence": 0.69, "confidence_level": "medium"}, "confidence_level must be 'low'"),
        ({"confidence": 0.7, "confidence_level": "low"}, "confidence_level must be 'medium'"),
        ({"sources": []}, "must have sources"),
        ({"confidence_level": "insufficient", "should_answer": False, "outcome": "answered"}, "cannot be False"),
        ({"outcome": "refused"}, "cannot be True"),
        ({"confidence_level": "insufficient", "should_answer": False}, "has no sources"),
    ],
)
def test_a_response_that_contradicts_itself_is_refused(changed: dict[str, object], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        ChatResponse.model_validate(RESPONSE | changed)


@pytest.mark.parametrize(("level", "least"), [("high", 0.83), ("medium", 0.7), ("low", 0.0)])
def test_a_level_begins_at_its_least_probability(level: str, least: float) -> None:
    assert ChatResponse.model_validate(RESPONSE | {"confidence": least, "confidence_level": level})


def test_a_response_without_enough_context_has_no_sources_and_counts_as_refused() -> None:
    changed = {"confidence": 0.2, "confidence_level": "insufficient", "should_answer": False, "sources": []}
    assert ChatResponse.model_validate(RESPONSE | changed).outcome == "refused"


def test_an_answer_needs_passages_that_suffice() -> None:
    assert ChatResponse.model_validate(RESPONSE | {"metrics": METRICS})
    weak = {"average_similarity": 0.3, "min_similarity": 0.3, "max_similarity": 0.3}
    metrics = METRICS | weak | {"confidence_level": "insufficient", "should_answer": False}
    with pytest.raises(ValidationError, match="do not allow an answer"):
        ChatResponse.model_validate(RESPONSE | {"metrics": metrics})


def test_the_level_by_similarity_stays_beside_the_level_of_the_answer() -> None:
    """`metrics` follows the rules for average and count; the reader sees how likely the answer is to be useful."""
    doubtful = RESPONSE | {"metrics": METRICS, "confidence": 0.5, "confidence_level": "low"}
    assert (
        ChatResponse.model_validate(doubtful).metrics
        == ChatResponse.model_validate(RESPONSE | {"metrics": METRICS}).metrics
    )


def test_an_answer_becomes_a_response_with_the_sources_it_cites() -> None:
    response = ChatResponse.of(answered(cites=(3, 1, 3)), session_id=THREAD_ID, at=NOON)
    assert [(source.number, source.quote) for source in response.sources] == [
        (1, "Node 1 talks to other nodes"),
        (3, "Node 3 talks to other nodes"),
    ]
    assert (response.outcome, response.reason, response.timestamp) == ("answered", None, "2026-01-01T12:00:00.000Z")
    assert (response.confidence, response.confidence_level, response.should_answer) == (0.9, "high", True)
    assert response.metrics is not None
    assert response.metrics.num_chunks == 5
    assert response.grounding is not None
    assert (response.grounding.supported, response.grounding.unsupported_citations) == (0.5, 1)
    assert response.grounding.unsupported == (), "a sentence that was dropped is shown nowhere"


def test_an_unsupported_sentence_is_listed_if_the_text_shows_it() -> None:
    marked = replace(answered(), text="Nodes talk over topics. [1] They also sing. (not supported by the book)")
    response = ChatResponse.of(marked, session_id=THREAD_ID)
    assert response.grounding is not None
    assert response.grounding.unsupported == ("They also sing.",)


def test_an_answer_says_which_part_of_it_answers_and_where_more_is_said() -> None:
    response = ChatResponse.of(answered(), session_id=THREAD_ID)
    (highlight,), (related,) = response.highlights, response.related
    assert response.response[highlight.start : highlight.end] == "Nodes talk over topics."
    assert related == RelatedLink(
        title="Nodes › Talking", url=f"{URL}#talking", line="Node 6 talks to other nodes.", chunk_id="chunk-6"
    )


@pytest.mark.parametrize("answer", [refused(0.5, 0.4), blocked(), interrupted(0.9, 0.8)])
def test_what_is_not_answered_has_neither_highlights_nor_related_sections(answer: Answer) -> None:
    response = ChatResponse.of(answer, session_id=THREAD_ID)
    assert (response.highlights, response.related) == ((), ())


def test_of_several_quotes_of_one_source_the_first_is_shown() -> None:
    answer = answered(cites=(1, 1))
    first, second = answer.citations
    twice = replace(answer, citations=(replace(first, quote="talks"), replace(second, quote="named topics")))
    assert [source.quote for source in ChatResponse.of(twice, session_id=THREAD_ID).sources] == ["talks"]


def test_an_answer_at_a_low_level_carries_its_disclaimer() -> None:
    response = ChatResponse.of(answered(0.7, 0.6, disclaimer="Thin evidence."), session_id=THREAD_ID)
    assert (response.confidence_level, response.should_answer) == ("low", True)
    assert response.disclaimer == "Thin evidence."


def test_a_degraded_or_truncated_answer_says_so() -> None:
    answer = replace(answered(), meta=replace(MADE, degraded="rate-limited", truncated=True))
    response = ChatResponse.of(answer, session_id=THREAD_ID)
    assert (response.degraded, response.truncated) == ("rate-limited", True)


def test_a_refusal_names_near_places_but_no_sources() -> None:
    response = ChatResponse.of(refused(0.5, 0.4, 0.3, 0.2), session_id=THREAD_ID)
    assert (response.outcome, response.reason) == ("refused", "not-in-the-book")
    assert response.sources == ()
    assert [source.number for source in response.nearest] == [1, 2, 3]
    assert (response.confidence_level, response.should_answer) == ("insufficient", False)


@pytest.mark.parametrize("answer", [refused(0.9, 0.9, 0.9), interrupted(0.9, 0.9, 0.9)])
def test_what_is_not_answered_in_spite_of_good_passages_has_no_confidence(answer: Answer) -> None:
    response = ChatResponse.of(answer, session_id=THREAD_ID)
    assert (response.confidence, response.confidence_level, response.should_answer) == (0.0, "insufficient", False)
    assert response.metrics is not None
    assert (response.metrics.average_similarity, response.metrics.confidence_level) == (0.9, "medium")


@pytest.mark.parametrize("answer", [blocked(), refused(), interrupted()])
def test_an_answer_without_evidence_has_no_confidence(answer: Answer) -> None:
    response = ChatResponse.of(answer, session_id=THREAD_ID)
    assert (response.confidence, response.confidence_level, response.should_answer) == (0.0, "insufficient", False)
    assert response.sources == ()


def test_a_blocked_message_says_why() -> None:
    response = ChatResponse.of(blocked(), session_id=THREAD_ID)
    assert (response.outcome, response.reason) == ("blocked", "injection")


def test_an_interrupted_answer_shows_what_was_seen_of_it() -> None:
    response = ChatResponse.of(interrupted(0.9, 0.8), session_id=THREAD_ID)
    assert (response.response, response.outcome) == ("Nodes talk over topics. [1]", "interrupted")
    assert response.reason == "deadline"
    assert [source.number for source in response.sources] == [1]


def test_an_answer_cut_off_at_once_still_says_something() -> None:
    assert "cut off" in ChatResponse.of(interrupted(text=""), session_id=THREAD_ID).response


def test_a_source_says_where_in_the_book_it_stands() -> None:
    source = Source.of(passage(2, 0.8), quote="talks to other nodes")
    assert source.model_dump() == {
        "chunk_text": "Node 2 talks to other nodes over named topics.",
        "similarity_score": 0.8,
        "chapter": "Part One › ROS 2",
        "section": "Talking",
        "url": f"{URL}#talking",
        "chunk_index": 0,
        "number": 2,
        "chunk_id": "chunk-2",
        "parent_doc_id": source.parent_doc_id,
        "quote": "talks to other nodes",
        "page_title": "Nodes",
        "cosine": 0.4,
    }


def test_a_source_without_breadcrumb_or_heading_is_named_after_its_page() -> None:
    source = Source.of(passage(breadcrumb=(), section_title=None))
    assert (source.chapter, source.section) == ("Nodes", "Nodes")


def test_a_long_source_is_cut_at_a_word_for_display() -> None:
    assert Source.of(passage(text="word " * 100 + "!")).chunk_text == ("word " * 100).rstrip() + "…"
    assert len(Source.of(passage(text="a" * 500)).chunk_text) == 500
    assert Source.of(passage(text="a" * 501)).chunk_text == "a" * 499 + "…"
    with pytest.raises(ValidationError, match="chunk_text"):
        Source(chunk_text="a" * 501, similarity_score=1, chapter="", section="", url="", chunk_index=0)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("one two", "one two"),
        ("one two t", "one two…"),
        ("one two three", "one two…"),
        ("one  two three", "one…"),
        ("onetwothree", "onetwot…"),
        ("one t w o", "one t w…"),
    ],
)
def test_texts_are_cut_between_words_where_there_are_any(text: str, shown: str) -> None:
    assert shortened(text, 8) == shown
    assert len(shown) <= 8


@pytest.mark.parametrize(
    ("field", "value"), [("similarity_score", -0.01), ("similarity_score", 1.01), ("chunk_index", -1), ("number", 0)]
)
def test_a_source_outside_its_bounds_is_refused(field: str, value: float) -> None:
    with pytest.raises(ValidationError, match=field):
        Source.model_validate(Source.of(passage()).model_dump() | {field: value})


def test_a_full_thread_is_read_and_written_unchanged() -> None:
    assert ConversationThread.model_validate(THREAD).model_dump(mode="json") == THREAD


def test_a_new_thread_is_empty_and_has_an_id_and_times_in_utc() -> None:
    response = ConversationThread()
    assert (response.messages, response.topic_summary, response.metadata) == ((), None, {})
    assert UUID(response.thread_id).version == 4
    assert response.created_at.tzinfo == response.updated_at.tzinfo == UTC


def test_times_of_another_zone_become_utc() -> None:
    response = ConversationThread.model_validate(THREAD | {"created_at": "2025-12-17T15:20:00+01:00"})
    assert response.created_at == datetime(2025, 12, 17, 14, 20, tzinfo=UTC)
    assert response.created_at.tzinfo == UTC


def turns(count: int) -> list[dict[str, object]]:
    return [
        {"role": ("user", "assistant")[number % 2], "content": "x", "timestamp": NOON + timedelta(seconds=number)}
        for number in range(count)
    ]


def test_a_thread_holds_50_messages_and_a_summary_of_200_characters() -> None:
    response = ConversationThread.model_validate({"messages": turns(50), "topic_summary": "a" * 200})
    assert len(response.messages) == 50


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"thread_id": "550e8400-e29b-11d4-a716-446655440000"}, "version 4"),
        ({"messages": turns(51)}, "messages"),
        ({"messages": turns(2)[::-1]}, "chronological"),
        ({"messages": [turns(1)[0], turns(3)[2]]}, "alternate"),
        ({"created_at": "2025-12-17T14:20:00"}, "time zone"),
        ({"updated_at": "2025-12-17T14:20:00"}, "time zone"),
        ({"topic_summary": "a" * 201}, "topic_summary"),
    ],
)
def test_a_thread_that_breaks_a_rule_is_refused(changed: dict[str, object], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        ConversationThread.model_validate(changed)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"role": "system"}, "role"),
        ({"timestamp": "2025-12-17T14:20:00"}, "time zone"),
        ({"confidence": 0.9}, "only an assistant message"),
        ({"role": "assistant", "confidence": 1.01}, "confidence"),
        ({"role": "assistant", "confidence": -0.01}, "confidence"),
    ],
)
def test_a_message_that_breaks_a_rule_is_refused(changed: dict[str, object], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        HistoryMessage.model_validate({"role": "user", "content": "x", "timestamp": NOON} | changed)


def test_a_stored_thread_is_shown_with_its_messages() -> None:
    stored = replace(thread("What?", "That."), topic_summary="Things", metadata={"tag": 1}, archived_messages=4)
    shown = ConversationThread.of(replace(stored, archived=True))
    assert (shown.thread_id, shown.book_id, shown.topic_summary) == (THREAD_ID, "book", "Things")
    assert (shown.archived, shown.archived_messages, shown.metadata) == (True, 4, {"tag": 1})
    assert (shown.created_at, shown.updated_at) == (NOON, NOON + timedelta(seconds=1))
    assert [message.model_dump(mode="json") for message in shown.messages] == [
        {"role": "user", "content": "What?", "timestamp": "2026-01-01T12:00:00.000Z"},
        {"role": "assistant", "content": "That.", "timestamp": "2026-01-01T12:00:01.000Z", "confidence": 0.9},
    ]


def test_an_answer_that_was_cut_off_is_marked_in_the_thread() -> None:
    stored = replace(thread("What?", "Tha").messages[1], complete=False, details={"outcome": "interrupted"})
    written = HistoryMessage.of(stored).model_dump(mode="json")
    assert (written["complete"], written["details"]) == (False, {"outcome": "interrupted"})


def test_a_clock_that_was_set_back_does_not_make_a_thread_unreadable() -> None:
    question, answer = thread("What?", "That.").messages
    skewed = replace(thread(), messages=(question, replace(answer, timestamp=NOON - timedelta(seconds=9))))
    assert [message.timestamp for message in ConversationThread.of(skewed).messages] == [NOON, NOON]


def test_a_full_retrieval_result_is_read_and_written_unchanged() -> None:
    written = RetrievalReport.model_validate(RETRIEVED).model_dump(mode="json")
    assert {key: value for key, value in written.items() if key in RETRIEVED} == RETRIEVED


def test_two_chunks_are_never_sufficient_however_similar() -> None:
    with pytest.raises(ValidationError, match="has_sufficient_context"):
        RetrievalReport.model_validate(RETRIEVED | {"has_sufficient_context": True})


@pytest.mark.parametrize(
    ("count", "score", "sufficient"),
    [(3, 0.75, True), (2, 0.75, False), (3, 0.7499, False), (10, 1.0, True), (0, 0.0, False)],
)
def test_context_suffices_from_three_chunks_and_an_average_of_three_quarters(
    count: int, score: float, sufficient: bool
) -> None:
    assert retrieved(count, score, has_sufficient_context=sufficient)
    with pytest.raises(ValidationError, match="has_sufficient_context"):
        retrieved(count, score, has_sufficient_context=not sufficient)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"scores": [0.9] * 2}, "same length"),
        ({"metadata": [PLACE] * 4}, "same length"),
        ({"chunks": ["a"] * 4}, "same length"),
        ({"scores": [0.9, 0.9, 1.01]}, "scores"),
        ({"scores": [0.9, 0.9, -0.01]}, "scores"),
        ({"average_score": 0.90001}, "mean"),
        ({"average_score": 1.01}, "average_score"),
        ({"query_embedding": [0.5] * 1535}, "1536"),
        ({"query_embedding": [0.5] * 1537}, "1536"),
        ({"query_embedding": [0.5] * 1536, "embedding_dimensions": 384}, "384"),
    ],
)
def test_a_retrieval_result_that_does_not_add_up_is_refused(changed: dict[str, object], said: str) -> None:
    assert retrieved(3, 0.9)
    with pytest.raises(ValidationError, match=said):
        retrieved(3, 0.9, **changed)


def test_at_most_ten_chunks_are_retrieved() -> None:
    assert len(retrieved(10, 0.9).chunks) == 10
    with pytest.raises(ValidationError, match="chunks"):
        retrieved(11, 0.9)


def test_the_average_may_differ_by_rounding() -> None:
    assert retrieved(3, 0.9, average_score=0.9000009)


def test_evidence_becomes_a_retrieval_result_of_the_embedders_own_size() -> None:
    response = RetrievalReport.of(evidence(0.8, 0.9, 0.7), query_embedding=(0.5,) * 384)
    assert response.scores == (0.9, 0.8, 0.7)
    assert response.chunks[0] == "Node 2 talks to other nodes over named topics."
    assert response.average_score == pytest.approx(0.8)
    assert (response.has_sufficient_context, response.embedding_dimensions) == (True, 384)
    assert response.metadata[0] == ChunkMetadata(
        chapter="Part One › ROS 2",
        section="Talking",
        url=f"{URL}#talking",
        chunk_index=0,
        content_hash=evidence(0.8, 0.9).passages[1].chunk.content_hash,
    )


def test_of_more_than_ten_passages_the_best_ten_are_shown() -> None:
    response = RetrievalReport.of(evidence(*(number / 20 for number in range(12))), query_embedding=(1.0,))
    assert (len(response.scores), min(response.scores)) == (10, 0.1)


def test_full_metrics_are_read_and_written_unchanged() -> None:
    assert ConfidenceMetrics.model_validate(METRICS).model_dump(mode="json") == METRICS


@pytest.mark.parametrize(
    ("average", "count", "level"),
    [
        (0.85, 5, "high"),
        (0.8499, 5, "medium"),
        (0.85, 4, "medium"),
        (0.75, 3, "medium"),
        (0.7499, 3, "low"),
        (0.75, 2, "low"),
        (0.60, 2, "low"),
        (0.5999, 2, "insufficient"),
        (0.5999, 1, "insufficient"),
        (0.0, 0, "insufficient"),
    ],
)
def test_the_level_and_the_decision_follow_from_average_and_number(average: float, count: int, level: str) -> None:
    same = {"average_similarity": average, "min_similarity": average, "max_similarity": average, "num_chunks": count}
    decided = {"confidence_level": level, "should_answer": level != "insufficient"}
    assert ConfidenceMetrics.model_validate(METRICS | same | decided)
    with pytest.raises(ValidationError, match="should_answer"):
        ConfidenceMetrics.model_validate(METRICS | same | decided | {"should_answer": level == "insufficient"})
    for other in {"high", "medium", "low", "insufficient"} - {level}:
        with pytest.raises(ValidationError, match="confidence_level must be"):
            ConfidenceMetrics.model_validate(METRICS | same | decided | {"confidence_level": other})


@pytest.mark.parametrize(
    ("level", "is_valid"), [("insufficient", True), ("low", True), ("medium", False), ("high", False)]
)
def test_one_passage_is_enough_for_low_if_there_is_no_other(level: str, is_valid: bool) -> None:
    same = {"average_similarity": 1.0, "min_similarity": 1.0, "max_similarity": 1.0, "num_chunks": 1}
    decided = {"confidence_level": level, "should_answer": level != "insufficient"}
    with nullcontext() if is_valid else pytest.raises(ValidationError, match="must be 'insufficient'"):
        ConfidenceMetrics.model_validate(METRICS | same | decided)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"min_similarity": 0.88}, "between"),
        ({"max_similarity": 0.86}, "between"),
        ({"min_similarity": -0.01}, "min_similarity"),
        ({"max_similarity": 1.01}, "max_similarity"),
        ({"average_similarity": 1.01}, "average_similarity"),
        ({"num_chunks": -1}, "num_chunks"),
        ({"chunk_diversity": -0.01}, "chunk_diversity"),
        ({"chunk_diversity": 1.01}, "chunk_diversity"),
    ],
)
def test_metrics_outside_their_bounds_are_refused(changed: dict[str, object], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        ConfidenceMetrics.model_validate(METRICS | changed)


@pytest.mark.parametrize("changed", [{"min_similarity": 0.87}, {"max_similarity": 0.87}, {"chunk_diversity": 0.0}])
def test_metrics_at_their_bounds_are_accepted(changed: dict[str, object]) -> None:
    assert ConfidenceMetrics.model_validate(METRICS | changed)


def test_confidence_becomes_metrics() -> None:
    response = ConfidenceMetrics.of(evidence(0.7, 0.6).confidence)
    assert (response.min_similarity, response.max_similarity, response.num_chunks) == (0.6, 0.7, 2)
    assert (response.confidence_level, response.should_answer) == ("low", True)
