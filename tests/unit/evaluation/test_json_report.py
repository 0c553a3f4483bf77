"""The verdicts of an evaluation as JSON and as public objects."""

import json

from bookwise.evaluation.json_report import evaluation_json, validation_result
from bookwise.evaluation.metrics import Evaluation, LiveBook, judge
from bookwise.ingestion.discovery.profile import ValidationQuestion
from bookwise.schemas.library import ValidationResult
from tests.support.answers import URL, answered, passage, refused

LIVE = LiveBook(chunks={f"chunk-{number}": passage(number).chunk for number in range(1, 6)})
QUESTION = ValidationQuestion(id="talk", kind="answerable", text="How do nodes talk?", lesson="nodes.md")
RIGHT = judge(QUESTION, answered(), LIVE)
WRONG = judge(QUESTION, refused(0.5, 0.4), LIVE)


def test_a_verdict_becomes_a_validation_result() -> None:
    result = validation_result(RIGHT)
    assert isinstance(result, ValidationResult)
    assert (result.id, result.kind, result.question) == ("talk", "answerable", "How do nodes talk?")
    assert (result.passed, result.reason, result.outcome, result.confidence) == (True, "", "answered", "high")
    assert (result.lesson_found, result.lesson_cited, result.total_time_ms) == (True, True, 45.0)
    assert [source.quote for source in result.sources] == ["Node 1 talks to other nodes"]
    missed = validation_result(WRONG)
    assert (missed.passed, bool(missed.reason), missed.outcome, missed.sources) == (False, True, "refused", ())


def test_the_json_of_a_verdict_names_what_was_cited() -> None:
    run = Evaluation(book_id="book", title="Nodes", engine="direct", verdicts=(RIGHT, WRONG))
    right, wrong = json.loads(json.dumps(evaluation_json(run, minimum=0.5)))["questions"]
    assert list(right) == [
        "id", "kind", "text", "history", "right", "why", "outcome", "similarity", "level", "lesson", "section",
        "lesson_cited", "section_cited", "lesson_found", "cited", "broken_citations", "answer", "total_ms",
    ]  # fmt: skip
    assert right["cited"] == [{"source_file": "nodes.md", "anchor": "talking", "url": f"{URL}#talking"}]
    assert (right["right"], right["why"], wrong["right"]) == (True, "", False)
