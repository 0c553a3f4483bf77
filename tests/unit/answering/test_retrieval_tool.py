"""What a model can ask of the book, and what it reads."""

import json

import pytest

from bookwise.answering.retrieval_tool import (
    RETRIEVAL_TOOL,
    ToolArguments,
    fewer_results,
    requested_query,
    retrieval_tool,
    tool_arguments,
    tool_error,
    tool_response,
)
from bookwise.domain.errors import InvalidInput
from tests.support.scripted_model import passage


def refusal(raw: str) -> str:
    with pytest.raises(InvalidInput) as caught:
        tool_arguments(raw)
    return caught.value.message


def test_the_schema_names_one_tool_with_one_required_argument() -> None:
    function = RETRIEVAL_TOOL["function"]
    assert RETRIEVAL_TOOL["type"] == "function"
    assert function["name"] == "retrieve_documentation"
    assert function["parameters"]["required"] == ["query"]
    defaults = {name: spec.get("default") for name, spec in function["parameters"]["properties"].items()}
    assert defaults == {"query": None, "top_k": 5, "similarity_threshold": 0.0}


def test_arguments_left_out_or_null_have_the_defaults_of_the_schema() -> None:
    plain = ToolArguments(query="loops", top_k=5, similarity_threshold=0.0)
    assert tool_arguments('{"query": "loops"}') == plain
    assert tool_arguments('{"query": "loops", "top_k": null, "similarity_threshold": null}') == plain


def test_the_default_number_of_results_can_be_set() -> None:
    assert tool_arguments('{"query": "loops"}', top_k=9).top_k == 9
    assert tool_arguments('{"query": "loops", "top_k": null}', top_k=9).top_k == 9
    assert tool_arguments('{"query": "loops", "top_k": 3}', top_k=9).top_k == 3
    spec = retrieval_tool(9)["function"]["parameters"]["properties"]["top_k"]
    assert (spec["default"], "(default: 9)" in spec["description"]) == (9, True)


@pytest.mark.parametrize(
    ("raw", "query"),
    [
        ('{"query": "loops", "top_k": 99}', "loops"),
        ('{"query": "loops", "other": 1}', "loops"),
        ('{"query": 5}', ""),
        ('{"query": "loo', ""),
        ("[" * 10_000, ""),
        ("null", ""),
        (json.dumps({"query": "x" * 20_000}), ""),
    ],
)
def test_the_query_of_wrong_arguments_is_known_where_there_is_one(raw: str, query: str) -> None:
    assert requested_query(raw) == query


def test_the_bounds_of_the_arguments_are_allowed() -> None:
    for top_k in (1, 20):
        assert tool_arguments(json.dumps({"query": "loops", "top_k": top_k})).top_k == top_k
    for threshold in (0, 0.5, 1):
        sent = json.dumps({"query": "loops", "similarity_threshold": threshold})
        assert tool_arguments(sent).similarity_threshold == threshold


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ("", "not valid JSON"),
        ("{", "not valid JSON"),
        ("[" * 10_000, "not valid JSON"),
        ("null", "must be a JSON object"),
        ("[1]", "must be a JSON object"),
        ('"loops"', "must be a JSON object"),
        ("{}", "query is missing"),
        ('{"query": null}', "query must be a non-empty string"),
        ('{"query": ""}', "query must be a non-empty string"),
        ('{"query": "  "}', "query must be a non-empty string"),
        ('{"query": 5}', "query must be a non-empty string"),
        ('{"query": ["loops"]}', "query must be a non-empty string"),
        (json.dumps({"query": "x" * 1_001}), "1,001 characters"),
        ('{"query": "loops", "top_k": 0}', "top_k is 0"),
        ('{"query": "loops", "top_k": 21}', "top_k is 21"),
        ('{"query": "loops", "top_k": true}', "top_k is True"),
        ('{"query": "loops", "top_k": "5"}', "top_k is '5'"),
        ('{"query": "loops", "top_k": 2.5}', "top_k is 2.5"),
        ('{"query": "loops", "top_k": {"a": 1}}', "top_k is an object"),
        ('{"query": "loops", "similarity_threshold": 1.1}', "similarity_threshold is 1.1"),
        ('{"query": "loops", "similarity_threshold": -0.1}', "similarity_threshold is -0.1"),
        ('{"query": "loops", "similarity_threshold": NaN}', "similarity_threshold is nan"),
        ('{"query": "loops", "similarity_threshold": true}', "similarity_threshold is True"),
        ('{"query": "loops", "book_id": "another"}', "Unknown arguments: 'book_id'"),
    ],
)
def test_wrong_arguments_are_named(raw: str, said: str) -> None:
    assert said in refusal(raw)


@pytest.mark.parametrize(
    "raw",
    [
        "Z" * 1_000_000,
        "Z" * 10_000,
        json.dumps({"query": "loops", "Z" * 9_000: 1}),
        json.dumps({"query": "loops", "top_k": "Z" * 9_000}),
        '{"query": "loops", "top_k": ' + "1" * 4_000 + "}",
        json.dumps({"query": "Z" * 9_000}),
        json.dumps({f"Z{number}": 1 for number in range(999)}),
        json.dumps({"query": "loops", "similarity_threshold": ["Z" * 9_000]}),
    ],
)
def test_a_message_never_repeats_more_than_100_characters_of_what_was_sent(raw: str) -> None:
    message = refusal(raw)
    assert message.count("Z") + message.count("1") <= 100
    assert len(message) < 250


def test_the_response_has_one_result_for_each_passage_in_order() -> None:
    found = [
        passage("A loop repeats.", number=4, url="https://book.example/loops#part-0", score=0.856),
        passage("Eine Größe.", number=2, title="sizes"),
    ]
    response = tool_response(found, "What are loops?")
    assert json.loads(response) == {
        "results": [
            {
                "chunk_text": "A loop repeats.",
                "page_title": "Loops",
                "section_heading": "Part 0",
                "source_url": "https://book.example/loops#part-0",
                "similarity_score": 0.856,
                "rank": 1,
                "number": 4,
            },
            {
                "chunk_text": "Eine Größe.",
                "page_title": "Sizes",
                "section_heading": "Part 0",
                "source_url": "sizes.md",
                "similarity_score": 0.8,
                "rank": 2,
                "number": 2,
            },
        ],
        "total_results": 2,
        "query": "What are loops?",
    }
    assert "Größe" in response
    assert response.startswith('{\n  "results"')


def test_nothing_found_is_an_empty_response() -> None:
    assert json.loads(tool_response([], "x")) == {"results": [], "total_results": 0, "query": "x"}


def test_an_error_says_what_went_wrong_and_for_which_query() -> None:
    assert json.loads(tool_error("The index is away.", "loops")) == {"error": "The index is away.", "query": "loops"}
    assert len(json.loads(tool_error("No.", "x" * 1_000))["query"]) == 201, "a long query is cut"


def test_a_response_can_be_halved_and_stays_one() -> None:
    found = [passage(f"Fact {number}.", number=number) for number in range(1, 6)]
    halved = json.loads(fewer_results(tool_response(found, "x")))
    assert [result["number"] for result in halved["results"]] == [1, 2]
    assert halved["total_results"] == 2
    assert json.loads(fewer_results(json.dumps(halved)))["total_results"] == 1


@pytest.mark.parametrize("other", [tool_error("No.", "x"), "no JSON", "[]", "5"])
def test_what_is_no_response_is_not_halved(other: str) -> None:
    assert fewer_results(other) == other
