"""The shapes of `ask()`: every bound, rule and format."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from bookwise.domain.answers import Answer, Question
from bookwise.domain.books import Book, Module
from bookwise.domain.errors import IndexUnavailable, InvalidInput, Misconfigured
from bookwise.schemas.ask import (
    AgentConfig,
    AgentResponse,
    Citation,
    Query,
    RetrievalContext,
    SearchResult,
    ask_confidence,
    build_prompt,
)
from bookwise.settings import FIELDS, env_name
from tests.support.answers import MADE, URL, answered, blocked, evidence, interrupted, passage, refused

BOOK = Book(id="book", title="Loops", modules=(Module(name="basics", aliases=("start",)), Module(name="loops")))


def found(*scores: float, **other: Any) -> RetrievalContext:
    chunks = tuple(SearchResult.of(passage(number, score)) for number, score in enumerate(scores, 1))
    fields = {"query": "Why?", "chunks": chunks, "total_found": len(chunks), "query_time_ms": 1.5}
    return RetrievalContext.model_validate(fields | other)


def response(**changed: Any) -> AgentResponse:
    return AgentResponse.model_validate(AgentResponse.of(answered(), query="Why?").model_dump() | changed)


def test_a_query_needs_only_a_text() -> None:
    assert Query(text="Why?").model_dump() == {"text": "Why?", "top_k": 5, "module_filter": None}


@pytest.mark.parametrize("top_k", [1, 100])
def test_a_query_retrieves_from_1_to_100_chunks(top_k: int) -> None:
    assert Query(text="Why?", top_k=top_k).top_k == top_k


@pytest.mark.parametrize(
    ("changed", "said"),
    [({"text": ""}, "blank"), ({"text": " \n"}, "blank"), ({"top_k": 0}, "top_k"), ({"top_k": 101}, "top_k")],
)
def test_a_query_outside_its_bounds_is_refused(changed: dict[str, object], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        Query.model_validate({"text": "Why?"} | changed)


@pytest.mark.parametrize("name", ["intro", "ros2", "simulation", "isaac", "vla", "gazebo"])
def test_the_default_book_can_be_filtered_by_each_of_its_modules(name: str) -> None:
    assert Query(text="Why?", module_filter=name).module_filter == name


@pytest.mark.parametrize("name", ["basics", "ROS2", ""])
def test_a_module_that_the_default_book_does_not_have_is_refused_with_those_it_has(name: str) -> None:
    with pytest.raises(ValidationError, match="gazebo, intro, isaac, ros2, simulation, vla"):
        Query(text="Why?", module_filter=name)


@pytest.mark.parametrize("name", ["basics", "start", "loops", None])
def test_another_book_has_its_own_modules(name: str | None) -> None:
    assert Query.for_book(BOOK, text="Why?", module_filter=name).module_filter == name


def test_a_module_of_the_default_book_means_nothing_to_another_one() -> None:
    with pytest.raises(ValidationError, match="basics, loops, start"):
        Query.for_book(BOOK, text="Why?", module_filter="ros2")


def test_a_book_that_lists_no_modules_takes_any_name() -> None:
    assert Query.for_book(replace(BOOK, modules=()), text="Why?", module_filter="any").module_filter == "any"


def test_a_query_becomes_a_question() -> None:
    query = Query(text="Why?", top_k=50, module_filter="ros2")
    assert query.question("book") == Question(text="Why?", book_id="book", module="ros2", top_k=50)
    with pytest.raises(InvalidInput, match="1,000"):
        Query(text="a" * 1001).question("book")


def test_a_passage_becomes_a_search_result() -> None:
    assert SearchResult.of(passage(1, 0.8)).model_dump() == {
        "text": "Node 1 talks to other nodes over named topics.",
        "score": 0.8,
        "page_title": "Nodes",
        "page_url": f"{URL}#talking",
        "module_name": "main",
        "chunk_index": 0,
    }


@pytest.mark.parametrize(("field", "value"), [("score", -0.01), ("score", 1.01), ("chunk_index", -1)])
def test_a_search_result_outside_its_bounds_is_refused(field: str, value: float) -> None:
    with pytest.raises(ValidationError, match=field):
        SearchResult.model_validate(SearchResult.of(passage()).model_dump() | {field: value})


@pytest.mark.parametrize(("score", "relevant"), [(0.3, True), (0.2999, False), (1.0, True), (0.0, False)])
def test_results_are_relevant_from_a_first_score_of_three_tenths(score: float, relevant: bool) -> None:
    assert found(score, 0.0).has_relevant_results is relevant
    with pytest.raises(ValidationError, match="has_relevant_results"):
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
    with pytest.raises(ValidationError, match=said):
        found(0.9, 0.8, **changed)


def test_the_best_chunk_comes_first() -> None:
    with pytest.raises(ValidationError, match="ordered by score"):
        found(0.2, 0.9)
    assert [chunk.score for chunk in RetrievalContext.of(evidence(0.2, 0.9)).chunks] == [0.9, 0.2]


def test_evidence_becomes_a_context_and_is_read_back_unchanged() -> None:
    context = RetrievalContext.of(evidence(0.5, 0.4), min_relevance=0.6)
    assert (context.query, context.total_found, context.query_time_ms) == ("How do nodes talk?", 2, 7.5)
    assert context.has_relevant_results is False
    assert RetrievalContext.model_validate_json(context.model_dump_json()) == context


@pytest.mark.parametrize(
    ("scores", "confidence"),
    [
        ([0.3], "high"),
        ([1.0, 0.0], "high"),
        ([0.1, 0.3], "high"),
        ([0.2999], "low"),
        ([0.0001], "low"),
        ([0.0], "none"),
        ([], "none"),
    ],
)
def test_confidence_is_decided_by_the_top_score(scores: list[float], confidence: str) -> None:
    assert ask_confidence(scores) == confidence


def test_confidence_is_measured_against_the_least_relevance() -> None:
    assert (ask_confidence([0.5], 0.5), ask_confidence([0.5], 0.51)) == ("high", "low")
    assert (ask_confidence([0.0], 0.0), ask_confidence([0.1], 0.0)) == ("none", "high")


PROMPT = """
You are an expert assistant for the Physical AI & Robotics book.

RULES:
1. ONLY answer using the CONTEXT provided below
2. If the answer is not in the CONTEXT, say "I couldn't find that information in the book"
3. ALWAYS cite your sources using [Source: Page Title] format
4. Be concise and accurate

CONTEXT:
[1] Nodes
Node 1 talks to other nodes over named topics.

[2] Nodes
Node 2 talks to other nodes over named topics.

USER QUESTION: Why?
"""


def test_the_prompt_is_the_rules_the_numbered_chunks_and_the_question() -> None:
    assert build_prompt(found(0.9, 0.8)) == PROMPT


def test_the_prompt_names_the_book() -> None:
    assert build_prompt(found(0.9, 0.8), "Loops") == PROMPT.replace("Physical AI & Robotics", "Loops")


def test_the_prompt_of_no_chunks_has_an_empty_context() -> None:
    assert build_prompt(found()).endswith("\nCONTEXT:\n\n\nUSER QUESTION: Why?\n")


def test_braces_in_a_book_or_a_question_are_only_text() -> None:
    assert "USER QUESTION: {chunks_text}\n" in build_prompt(found(query="{chunks_text}"))


def test_an_answer_becomes_a_response_with_citations_and_times() -> None:
    response = AgentResponse.of(answered(cites=(2, 1)), query="How do they talk?", min_relevance=0.3)
    assert (response.answer, response.query) == ("Nodes talk over topics. [2] [1]", "How do they talk?")
    assert response.citations[0] == Citation(
        page_title="Nodes",
        page_url=f"{URL}#talking",
        module_name="main",
        number=1,
        quote="Node 1 talks to other nodes",
        section="Talking",
    )
    assert [citation.number for citation in response.citations] == [1, 2]
    assert (response.retrieval_time_ms, response.generation_time_ms, response.total_time_ms) == (12.5, 30.25, 45.0)
    assert (response.confidence, response.confidence_level, response.error) == ("high", "high", None)
    assert (response.outcome, response.reason, len(response.sources)) == ("answered", None, 5)
    assert response.grounding is not None
    assert response.grounding.supported == 0.5
    assert AgentResponse.model_validate_json(response.model_dump_json()) == response


def test_a_degraded_answer_says_so() -> None:
    answer = replace(answered(0.7, 0.6, disclaimer="Thin."), meta=replace(MADE, degraded="timeout", truncated=True))
    response = AgentResponse.of(answer, query="Why?")
    assert (response.degraded, response.truncated, response.disclaimer) == ("timeout", True, "Thin.")
    assert (response.confidence, response.confidence_level) == ("high", "low")


@pytest.mark.parametrize(
    ("answer", "reason", "confidence"),
    [(refused(0.2, 0.1), "not-in-the-book", "low"), (refused(), "nothing-found", "none")],
)
def test_a_refusal_is_an_answer_and_no_error(answer: Answer, reason: str, confidence: str) -> None:
    response = AgentResponse.of(answer, query="Why?")
    assert (response.outcome, response.reason, response.confidence) == ("refused", reason, confidence)
    assert (response.error, response.citations, response.answer) == (None, (), "The book does not say.")


def test_a_blocked_message_is_an_error_with_its_reason() -> None:
    response = AgentResponse.of(blocked(), query="Why?")
    assert (response.outcome, response.reason, response.confidence) == ("blocked", "injection", "none")
    assert response.error == "The message was not answered: injection."
    assert (response.answer, response.citations) == ("I only answer questions about the book.", ())


def test_an_interrupted_answer_is_an_error_and_shows_what_was_seen() -> None:
    response = AgentResponse.of(interrupted(0.9, 0.8), query="Why?")
    assert (response.answer, response.outcome) == ("Nodes talk over [2]", "interrupted")
    assert response.error == "The answer was cut off: deadline."
    assert [citation.number for citation in response.citations] == [2]


def test_the_least_relevance_decides_the_confidence_of_a_response() -> None:
    assert AgentResponse.of(answered(), query="Why?", min_relevance=0.96).confidence == "low"


def test_a_failure_becomes_a_response_with_its_message() -> None:
    error = IndexUnavailable("The index is away.", advice="Try again.")
    response = AgentResponse.failed(error, query="Why?", total_ms=3.0)
    assert (response.error, response.reason, response.outcome) == (
        "The index is away. Try again.",
        "index-unavailable",
        "failed",
    )
    assert (response.answer, response.citations, response.confidence, response.total_time_ms) == ("", (), "none", 3.0)


def test_a_citation_of_an_unpublished_book_has_no_url() -> None:
    citation = replace(answered().citations[0], passage=passage(url=""))
    assert Citation.of(citation).page_url is None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("retrieval_time_ms", -0.1),
        ("generation_time_ms", -0.1),
        ("total_time_ms", -0.1),
        ("confidence", "medium"),
        ("outcome", "done"),
    ],
)
def test_a_response_outside_its_bounds_is_refused(field: str, value: object) -> None:
    with pytest.raises(ValidationError, match=field):
        response(**{field: value})


def test_the_configuration_has_defaults_and_needs_no_key() -> None:
    config = AgentConfig()
    assert (config.model, config.temperature, config.top_k) == ("gpt-4o-mini", 0.1, 5)
    assert (config.min_relevance_score, config.openai_api_key) == (0.3, None)


@pytest.mark.parametrize(
    "changed",
    [{"temperature": 0.0}, {"temperature": 1.0}, {"top_k": 1}, {"top_k": 100}, {"min_relevance_score": 1.0}],
)
def test_the_configuration_reaches_its_bounds(changed: dict[str, Any]) -> None:
    assert AgentConfig(**changed)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"model": " "}, "model"),
        ({"temperature": -0.01}, "temperature"),
        ({"temperature": 1.01}, "temperature"),
        ({"top_k": 0}, "top_k"),
        ({"top_k": 101}, "top_k"),
        ({"min_relevance_score": -0.01}, "min_relevance_score"),
        ({"min_relevance_score": 1.01}, "min_relevance_score"),
    ],
)
def test_the_configuration_stays_within_its_bounds(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(Misconfigured, match=said):
        AgentConfig(**changed)


def test_the_configuration_comes_from_the_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for field in FIELDS:
        monkeypatch.delenv(env_name(field), raising=False)
    monkeypatch.chdir(tmp_path)
    assert AgentConfig.from_env() == AgentConfig()
    (tmp_path / ".env").write_text(
        "OPENAI_API_KEY=secret-key\nOPENAI_MODEL=other\nAGENT_TOP_K=7\nMIN_RELEVANCE_SCORE=0.5\n"
    )
    config = AgentConfig.from_env()
    assert config == AgentConfig(model="other", top_k=7, min_relevance_score=0.5, openai_api_key="secret-key")
    assert "secret-key" not in repr(config)
