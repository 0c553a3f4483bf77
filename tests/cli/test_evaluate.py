"""`validate` and `calibrate`, in process: what is asked, printed, written, and how they end."""

import json
import tomllib
from pathlib import Path
from statistics import fmean
from typing import Any

import anyio
import pytest

from bookwise.domain.validation_runs import ValidationRun
from tests.support.apps import SAMPLE_BOOK, hashing_app, write_book
from tests.support.command_line import CommandLine
from tests.support.copies import copy_folder

TOPICS = (
    "topics",
    "services",
    "actions",
    "parameters",
    "launchers",
    "timers",
    "bags",
    "frames",
    "lifecycles",
    "clocks",
)
LESSONS = {
    f"{name}.md": (
        f"# {name.title()}\n\n## How {name} work\n\n"
        f"Robots use {name} daily because {name} carry {name} information. Every robot has {name}.\n\n"
        f"## Why {name} matter\n\nGood {name} make a robot dependable, and poor {name} make it stumble.\n"
    )
    for name in TOPICS
}
ANSWERABLE = [
    {"id": f"about-{name}", "kind": "answerable", "text": f"Why do robots use {name} daily?", "lesson": f"{name}.md"}
    for name in TOPICS
]
OFF_TOPIC = [
    {"id": f"off-{number}", "kind": "off-topic", "text": f"Who {what}?"}
    for number, what in enumerate(
        ("won yesterday", "baked sourdough", "painted Guernica", "ruled Castile", "sang Carmen", "sailed northwards",
         "planted tulips", "brewed porter")
    )
]  # fmt: skip


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a book and the data it was ingested into, for all tests that change neither."""
    return tmp_path_factory.mktemp("shared")


@pytest.fixture
def terminal(capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BOOKWISE_EMBEDDER", "hashing")
    return CommandLine(capfd, tmp_path / "data")


@pytest.fixture
def bookwise(terminal: CommandLine, capfd: pytest.CaptureFixture[str], shared: Path) -> CommandLine:
    """A terminal in front of the shared data."""
    reader = CommandLine(capfd, shared / "data")
    if not (shared / "data").exists():
        ingest_small_book(reader, shared)
    return reader


@pytest.fixture
def book(terminal: CommandLine, tmp_path: Path) -> Path:
    """A book of one's own, ingested into the terminal's data."""
    return ingest_small_book(terminal, tmp_path)


def ingest_small_book(terminal: CommandLine, folder: Path) -> Path:
    root = write_book(folder / "my-book", {**LESSONS, "bookwise.toml": tables(*ANSWERABLE, *OFF_TOPIC)})
    assert terminal("ingest", str(root)) == 0, terminal.err
    return root


def similarities(run: dict[str, Any]) -> list[float]:
    return [question["similarity"] for question in run["questions"]]


def tables(*questions: dict[str, Any]) -> str:
    return "".join(
        "[[questions]]\n" + "".join(f"{name} = {json.dumps(value)}\n" for name, value in question.items())
        for question in questions
    )


def file_of(folder: Path, *questions: dict[str, Any]) -> str:
    (folder / "questions.json").write_text(json.dumps(questions))
    return str(folder / "questions.json")


def test_validate_asks_the_books_own_questions_and_lists_the_misses(bookwise: CommandLine) -> None:
    run = bookwise.json("validate")
    assert (run["asked"], run["kinds"]["answerable"]["asked"], run["kinds"]["off-topic"]["asked"]) == (18, 10, 8)
    assert run["right"] == sum(question["right"] for question in run["questions"])
    assert run["accuracy"] == run["right"] / 18
    assert run["citations"]["total"] == run["citations"]["resolved"] > 0
    assert sum(found["count"] for found in run["reliability"]) == 18
    assert bookwise("validate", "--min", "0") == 0
    for question in run["questions"]:
        assert (question["id"] in bookwise.out) != question["right"]
    assert f"{run['accuracy']:.1%} correct" in bookwise.out


def test_every_run_leaves_its_figures_for_the_author(bookwise: CommandLine, tmp_path: Path) -> None:
    run = bookwise.json("validate", "--min", "0")
    wrong = file_of(tmp_path, {**ANSWERABLE[0], "lesson": "ghosts.md"})
    bookwise("validate", "--questions", wrong)

    async def stored() -> list[ValidationRun]:
        async with hashing_app(bookwise.data) as app:
            return await app.validations.runs("my-book")

    of_file, own, *_ = anyio.run(stored)
    assert (own.own_questions, own.asked, own.correct) == (True, 18, run["right"])
    assert {kind.kind: kind.asked for kind in own.kinds} == {"answerable": 10, "off-topic": 8}
    assert (of_file.own_questions, of_file.asked, of_file.correct) == (False, 1, 0)
    assert [(one.id, "ghosts.md" in one.reason) for one in of_file.failed] == [("about-topics", True)]


def test_the_bar_decides_how_it_ends(bookwise: CommandLine, tmp_path: Path) -> None:
    easy = file_of(tmp_path, ANSWERABLE[0])
    assert bookwise("validate", "--questions", easy, "--min", "1") == 0, bookwise.out
    assert "at or above the required" in bookwise.out
    wrong = file_of(tmp_path, {**ANSWERABLE[0], "lesson": "ghosts.md"})
    assert bookwise("validate", "--questions", wrong, "--min", "1") == 1
    assert "the book has no lesson ghosts.md" in bookwise.out
    assert bookwise("validate", "--questions", wrong, "--min", "0") == 0
    assert bookwise.json("validate", "--questions", wrong, ends_with=1)["passed"] is False


def test_a_follow_up_is_asked_after_what_was_asked_before(bookwise: CommandLine, tmp_path: Path) -> None:
    leaning = {"id": "f", "kind": "follow-up", "text": "Why do robots use them daily?", "lesson": "bags.md"}
    asked = file_of(tmp_path, {**leaning, "history": ["How do bags work?"]})
    (verdict,) = bookwise.json("validate", "--questions", asked)["questions"]
    assert (verdict["right"], verdict["lesson_cited"]) == (True, True), verdict


def test_useful_answers_are_counted_and_may_be_required(bookwise: CommandLine, tmp_path: Path) -> None:
    facts = {**ANSWERABLE[0], "type": "why", "contains": [["carry topics information", "carry"]]}
    lacking = {**ANSWERABLE[1], "type": "why", "contains": ["services information", "sing", "dance"]}
    asked = file_of(tmp_path, facts, lacking)
    assert bookwise("validate", "--questions", asked) == 0
    assert 'about-services is not useful: missing: "sing", "dance"' in " ".join(bookwise.out.split())
    assert bookwise("validate", "--questions", asked, "--min-useful", "0.5") == 0
    assert "50.0% useful: at or above the required 50.0%" in bookwise.out
    assert bookwise("validate", "--questions", asked, "--min-useful", "0.6") == 1
    assert "50.0% useful: below the required 60.0%" in bookwise.out
    run = bookwise.json("validate", "--questions", asked, "--min-useful", "0.6", ends_with=1)
    assert (run["passed"], run["usefulness"]["types"]["why"]["useful"]) == (False, 1)


def test_the_report_is_written_where_it_was_asked_for(bookwise: CommandLine, tmp_path: Path) -> None:
    assert bookwise("validate", "--html", "report.html", "--min", "0") == 0
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    for question in (*ANSWERABLE, *OFF_TOPIC):
        assert question["id"] in page
    assert bookwise("validate", "--html", "no/such/folder/report.html", "--min", "0") == 2
    assert "report.html" in bookwise.err


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["validate", "--min", "2"], 2, "--min"),
        (["validate", "--min-useful", "2"], 2, "--min-useful"),
        (["validate", "--min-useful", "0.5"], 2, "no question has contains"),
        (["validate", "--engine", "oracle"], 2, "'extractive', 'direct', 'agent'"),
        (["validate", "--questions", "nowhere.json"], 3, "nowhere.json"),
        (["validate", "--questions", "broken.jsonl"], 2, "line 1"),
        (["validate", "--questions", "empty.json"], 3, "no questions"),
        (["validate", "--book", "ghost"], 3, "ghost"),
        (["validate", "--engine", "direct"], 6, "OPENAI_API_KEY"),
        (["calibrate", "--questions", "broken.jsonl"], 2, "line 1"),
        (["calibrate", "--questions", "nowhere.json"], 3, "nowhere.json"),
    ],
)
def test_errors_say_what_is_wrong(
    bookwise: CommandLine, tmp_path: Path, arguments: list[str], code: int, said: str
) -> None:
    (tmp_path / "broken.jsonl").write_text('{"id": 7}\n')
    (tmp_path / "empty.json").write_text("[]")
    assert bookwise(*arguments) == code, bookwise.err
    assert said in bookwise.err
    assert bookwise.out == ""


def test_a_book_without_questions_is_told_how_to_add_them(terminal: CommandLine, book: Path) -> None:
    (book / "bookwise.toml").unlink()
    assert terminal("validate") == 3
    assert "[[questions]]" in terminal.err
    book.rename(book.parent / "moved")
    assert terminal("validate") == 3
    assert "--questions FILE" in terminal.err


def test_calibrate_shows_both_maps_and_changes_nothing_unless_told_to(bookwise: CommandLine) -> None:
    before = bookwise.json("validate", "--min", "0")
    run = bookwise.json("calibrate")
    assert run["reason"] is None, run
    assert (run["positives"], run["negatives"]["count"], run["written"]) == (
        {"count": 10, "from_headings": False}, 8, False,
    )  # fmt: skip
    assert sum(run["after"].values()) >= sum(run["before"].values())
    assert similarities(bookwise.json("validate", "--min", "0")) == similarities(before)
    assert bookwise("calibrate") == 0
    assert "[calibration]" in bookwise.out
    assert "bookwise.toml" in bookwise.out


def test_a_written_map_is_used_and_outlives_the_next_ingest(terminal: CommandLine, book: Path) -> None:
    before = terminal.json("validate", "--min", "0")
    run = terminal.json("calibrate", "--write")
    assert run["written"] is True
    after = terminal.json("validate", "--min", "0")
    assert similarities(after) != similarities(before)
    assert after["kinds"]["off-topic"]["accuracy"] == run["after"]["refused"]
    (book / "topics.md").write_text(LESSONS["topics.md"] + "\nOne more sentence.\n")
    assert terminal("ingest", str(book)) == 0
    assert terminal.json("calibrate")["before"] == pytest.approx(run["after"])


def test_recreating_a_book_forgets_the_written_map(terminal: CommandLine, book: Path) -> None:
    before = terminal.json("validate", "--min", "0")
    terminal("calibrate", "--write")
    assert similarities(terminal.json("validate", "--min", "0")) != similarities(before)
    assert terminal("ingest", str(book), "--mode", "recreate") == 0
    assert similarities(terminal.json("validate", "--min", "0")) == similarities(before)


def test_the_table_to_paste_is_what_was_fitted(bookwise: CommandLine) -> None:
    knots = bookwise.json("calibrate")["knots"]
    bookwise("calibrate")
    table = bookwise.out[bookwise.out.index("[calibration]") :].split("\n\n")[0]
    assert tomllib.loads(table)["calibration"]["knots"] == knots


def test_a_book_without_questions_is_calibrated_on_its_headings(terminal: CommandLine, book: Path) -> None:
    (book / "bookwise.toml").unlink()
    run = terminal.json("calibrate")
    assert (run["positives"]["from_headings"], run["negatives"]["foreign"]) == (True, True)
    assert run["positives"]["count"] == 20  # "How topics work?" and "Why topics matter?", in ten lessons
    assert run["negatives"]["count"] + len(run["dropped"]) == 64


def test_too_few_questions_keep_the_map_in_use(bookwise: CommandLine, tmp_path: Path) -> None:
    few = file_of(tmp_path, ANSWERABLE[0], *OFF_TOPIC)
    assert bookwise("calibrate", "--questions", few, "--write") == 1
    assert "only 1 question " in bookwise.out
    assert "[calibration]" not in bookwise.out


@pytest.mark.slow
def test_the_sample_book_is_served_well(
    terminal: CommandLine, sample_vectors: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy_folder(sample_vectors, terminal.data)
    monkeypatch.setenv("BOOKWISE_EMBEDDER", "minilm")
    assert terminal("ingest", str(SAMPLE_BOOK)) == 0
    run = terminal.json("validate", "--min", "0.85", "--min-useful", "0.6")
    misses = {question["id"]: question["why"] for question in run["questions"] if not question["right"]}
    assert run["passed"], (misses, run["usefulness"])
    assert run["citations"]["resolved"] == run["citations"]["total"]
    assert run["kinds"]["off-topic"]["accuracy"] == 1.0
    without_facts = [question["right"] for question in run["questions"] if question["useful"] is None]
    assert fmean(without_facts) >= 0.95
    demo = (SAMPLE_BOOK.parent / "demo.sh").read_text(encoding="utf-8").lower()
    shown = [question for question in run["questions"] if question["text"].lower() in demo]
    assert len(shown) == 3
    assert all(question["right"] and question["useful"] is not False for question in shown), shown
