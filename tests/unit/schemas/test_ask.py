"""The shapes of `ask()`: every bound, rule and format."""

from dataclasses import replace
from typing import Any

import pytest

from bookwise.domain.answers import Answer, Question
from bookwise.domain.books import Book, Module
from bookwise.domain.errors import IndexUnavailable, InvalidInput
from bookwise.schemas.ask import AgentResponse, CitedSource, Query, ask_confidence, build_prompt
from bookwise.schemas.library import RetrievalContext, RetrievalResult
from tests.support.answers import MADE, URL, answered, blocked, interrupted, passage, refused
from tests.support.builders import NOON

BOOK = Book(id="book", title="Loops", modules=(Module(name="basics", aliases=("start",)), Module(name="loops")))


def found(*scores: float, **other: Any) -> RetrievalContext:
    chunks = tuple(RetrievalResult.of(passage(number, score)) for number, score in enumerate(scores, 1))
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
    with pytest.raises(InvalidInput, match=said):
        Query.model_validate({"text": "Why?"} | changed)


@pytest.mark.parametrize("name", ["intro", "ros2", "simulation", "isaac", "vla", "gazebo"])
def test_the_default_book_can_be_filtered_by_each_of_its_modules(name: str) -> None:
    assert Query(text="Why?", module_filter=name).module_filter == name


@pytest.mark.parametrize("name", ["basics", "ROS2", ""])
def test_a_module_that_the_default_book_does_not_have_is_refused_with_those_it_has(name: str) -> None:
    with pytest.raises(InvalidInput, match="gazebo, intro, isaac, ros2, simulation, vla"):
        Query(text="Why?", module_filter=name)


@pytest.mark.parametrize("name", ["basics", "start", "loops", None])
def test_another_book_has_its_own_modules(name: str | None) -> None:
    assert Query.for_book(BOOK, text="Why?", module_filter=name).module_filter == name


def test_a_module_of_the_default_book_means_nothing_to_another_one() -> None:
    with pytest.raises(InvalidInput, match="basics, loops, start"):
        Query.for_book(BOOK, text="Why?", module_filter="ros2")


def test_a_book_that_lists_no_modules_takes_any_name() -> None:
    assert Query.for_book(replace(BOOK, modules=()), text="Why?", module_filter="any").module_filter == "any"


def test_a_query_becomes_a_question() -> None:
    query = Query(text="Why?", top_k=50, module_filter="ros2")
    assert query.question("book") == Question(text="Why?", book_id="book", module="ros2", top_k=50)
    with pytest.raises(InvalidInput, match="1,000"):
        Query(text="a" * 1001).question("book")


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


def test_a_context_becomes_a_prompt() -> None:
    prompt = build_prompt(found(0.9, 0.8), "Loops")
    assert "expert assistant for the Loops book" in prompt
    assert "\n[1] Nodes\nNode 1 talks to other nodes over named topics.\n\n[2] Nodes\n" in prompt
    assert prompt.endswith("USER QUESTION: Why?")


def test_an_answer_becomes_a_response_with_citations_and_times() -> None:
    response = AgentResponse.of(answered(cites=(2, 1)), query="How do they talk?", min_relevance=0.3)
    assert (response.answer, response.query) == ("Nodes talk over topics. [2] [1]", "How do they talk?")
    assert response.citations[0] == CitedSource(
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
    assert (response.outcome, response.reason, len(response.sources)) == ("answered", None, 2)
    assert [source.number for source in response.sources] == [1, 2]
    assert response.context is not None
    assert [chunk.number for chunk in response.context.chunks] == [1, 2, 3, 4, 5]
    assert (response.model, response.tokens_used, response.retrieval_count) == ("test-model", 100, 5)
    assert response.grounding is not None
    assert response.grounding.supported == 0.5
    assert [response.answer[h.start : h.end] for h in response.highlights] == ["Nodes talk over topics."]
    assert [(link.title, link.url) for link in response.related] == [("Nodes › Talking", f"{URL}#talking")]
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
    assert (response.answer, response.outcome) == ("Nodes talk over topics. [1]", "interrupted")
    assert response.error == "The answer was cut off: deadline."
    assert [citation.number for citation in response.citations] == [1]


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
    assert (response.citations, response.confidence, response.total_time_ms) == ((), "none", 3.0)
    assert response.answer == response.error, "an answer is never empty"


def test_a_citation_of_an_unpublished_book_has_no_url() -> None:
    citation = replace(answered().citations[0], passage=passage(url=""))
    assert CitedSource.of(citation).page_url is None


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
    with pytest.raises(InvalidInput, match=field):
        response(**{field: value})


RESULTS = [
    RetrievalResult(rank=1, score=0.912, source_url="https://a.example/x#y", content="Nodes talk.", page_title="Nodes"),
    RetrievalResult(rank=2, score=0.8, source_url="b.md", content="So."),
]


def library_response(**changed: Any) -> AgentResponse:
    fields = {"content": "Because [1].", "sources": RESULTS, "model": "test-model", "tokens_used": 7}
    return AgentResponse(**fields | changed)


def test_a_response_can_be_made_from_content_and_sources_alone() -> None:
    made = library_response(retrieval_count=5, created_at=NOON)
    assert (made.content, made.answer) == ("Because [1].", "Because [1].")
    assert (made.model, made.tokens_used, made.retrieval_count, made.created_at) == ("test-model", 7, 5, NOON)
    assert [(c.page_title, c.page_url) for c in made.citations] == [("Nodes", "https://a.example/x#y"), ("", None)]
    assert library_response().retrieval_count == 2


def test_a_response_can_be_made_from_answer_and_citations_alone() -> None:
    made = AgentResponse(
        answer="Because.",
        citations=[CitedSource(page_title="Nodes", module_name="ros2")],
        query="Why?",
        retrieval_time_ms=1.0,
        generation_time_ms=2.0,
        total_time_ms=3.0,
        confidence="high",
        error=None,
    )
    assert (made.content, made.sources, made.retrieval_count) == ("Because.", (), 0)
    assert made.citations[0].page_title == "Nodes"


def test_a_response_is_shown_with_its_sources_below_a_rule_and_not_as_a_heading() -> None:
    assert library_response().format_with_sources() == (
        "Because [1].\n\n---\n**Sources:**\n[1] https://a.example/x#y (score: 0.91)\n[2] b.md (score: 0.80)"
    )


def test_a_response_without_sources_is_shown_as_it_is() -> None:
    assert library_response(sources=[]).format_with_sources() == "Because [1]."


@pytest.mark.parametrize(
    ("changed", "said"),
    [({"content": ""}, "empty"), ({"content": " "}, "empty"), ({"tokens_used": -1}, "tokens_used")],
)
def test_a_response_that_breaks_a_rule_is_refused(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        library_response(**changed)


def test_the_footer_of_an_answer_keeps_the_numbers_that_the_text_cites() -> None:
    made = AgentResponse.of(answered(cites=(4, 2)))
    assert [(source.rank, source.number, source.quote) for source in made.sources] == [
        (1, 2, "Node 2 talks to other nodes"),
        (2, 4, "Node 4 talks to other nodes"),
    ]
    assert made.format_with_sources() == (
        "Nodes talk over topics. [4] [2]\n\n---\n**Sources:**\n"
        f"[2] {URL}#talking (score: 0.90)\n[4] {URL}#talking (score: 0.88)"
    )


@pytest.mark.parametrize(
    ("answer", "content", "cited", "retrieved"),
    [
        (refused(0.4, 0.3), "The book does not say.", [], 2),
        (blocked(), "I only answer questions about the book.", [], 0),
        (interrupted(0.9, 0.8), "Nodes talk over topics. [1]", [1], 2),
        (interrupted(), "Nodes talk over topics. [1]", [], 0),
    ],
)
def test_every_kind_of_answer_becomes_a_response(
    answer: Answer, content: str, cited: list[int], retrieved: int
) -> None:
    made = AgentResponse.of(answer)
    assert (made.content, [source.number for source in made.sources]) == (content, cited)
    assert made.retrieval_count == retrieved


def test_an_answer_made_without_a_model_names_its_engine() -> None:
    made = AgentResponse.of(replace(answered(), meta=replace(MADE, model="", engine="extractive")))
    assert made.model == "extractive"
