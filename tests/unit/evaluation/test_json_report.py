"""The verdicts of an evaluation as JSON and as public objects."""

import json

from bookwise.evaluation.json_report import evaluation_json, validation_result
from bookwise.evaluation.metrics import Evaluation, LiveBook, Minimum, judge
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
    right, wrong = json.loads(json.dumps(evaluation_json(run, minimum=Minimum(correct=0.5))))["questions"]
    assert list(right) == [
        "id", "kind", "type", "text", "history", "right", "why", "outcome", "similarity", "level", "lesson", "section",
        "lesson_cited", "section_cited", "lesson_found", "cited", "broken_citations", "useful", "complete", "missing",
        "unwanted", "answer", "total_ms",
    ]  # fmt: skip
    assert right["cited"] == [{"source_file": "nodes.md", "anchor": "talking", "url": f"{URL}#talking"}]
    assert (right["right"], right["why"], wrong["right"]) == (True, "", False)


def test_the_json_counts_useful_answers_where_questions_name_facts() -> None:
    facts = QUESTION.model_copy(update={"type": "why", "contains": (("Nodes talk",), ("loudly",))})
    run = Evaluation(book_id="book", title="Nodes", engine="direct", verdicts=(judge(facts, answered(), LIVE), WRONG))
    document = json.loads(json.dumps(evaluation_json(run, minimum=Minimum(correct=0.5, useful=0.5))))
    figures = {"asked": 1, "useful": 1, "complete": 0, "useful_share": 1.0, "complete_share": 0.0}
    assert document["usefulness"] == {**figures, "types": {"why": figures}, "high": {"answers": 1, "useful": 1}}
    assert (document["min_useful"], document["passed"]) == (0.5, True)
    known, unknown = document["questions"]
    assert (known["type"], known["useful"], known["complete"], known["missing"]) == ("why", True, False, ["loudly"])
    assert (unknown["type"], unknown["useful"], unknown["missing"]) == (None, None, [])
    without = Evaluation(book_id="book", title="Nodes", engine="direct", verdicts=(RIGHT,))
    assert evaluation_json(without, minimum=Minimum(correct=0.5))["usefulness"] is None
