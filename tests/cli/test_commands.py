"""The terminal face, in process: what is printed where, and how commands end."""

import json
import os
from pathlib import Path

import pytest

from bookwise.cli.main import COMMANDS, program, run_with
from tests.support.apps import write_book
from tests.support.command_line import CommandLine
from tests.support.small_books import MODULES

TOPICS = "# Topics\n\nA topic carries messages from many publishers to many subscribers without waiting.\n"
SERVICES = "# Services\n\nA service answers one request with exactly one response, and the caller waits.\n"
QUESTIONS = """
[[questions]]
id = "services"
kind = "answerable"
text = "What answers one request?"
lesson = "services.md"
"""


@pytest.fixture
def book(tmp_path: Path) -> Path:
    return write_book(tmp_path / "my-book", {"topics.md": TOPICS, "services.md": SERVICES})


def test_ingest_then_search_shows_the_passage_and_where_it_is(bookwise: CommandLine, book: Path) -> None:
    assert bookwise("ingest", str(book)) == 0
    assert "2 lessons published" in bookwise.out
    assert bookwise("search", "which answers one request?") == 0
    first, second = bookwise.out.index("Services"), bookwise.out.index("Topics")
    assert first < second
    assert "services.md" in bookwise.out


def test_a_report_counts_one_thing_as_one(bookwise: CommandLine, tmp_path: Path) -> None:
    book = write_book(tmp_path / "one", {"topics.md": TOPICS, "LICENSE.md": "Free.", ".bookwise/sites/a.md": "# A"})
    assert bookwise("ingest", str(book)) == 0
    assert "1 lesson published" in bookwise.out
    assert "; 1 chunk" in bookwise.out
    assert "1 chunks" not in bookwise.out
    assert bookwise.err == "Skipped 1 file that is not a lesson (not-a-lesson).\n"


def test_notes_that_are_not_shown_are_counted(bookwise: CommandLine, tmp_path: Path) -> None:
    lessons = {f"{n}.md": f"# Lesson {n}\n\n{{{{#include none.md}}}}\n\nText.\n" for n in range(12)}
    assert bookwise("ingest", str(write_book(tmp_path / "notes", lessons))) == 0
    *notes, last = bookwise.err.splitlines()
    assert len(notes) == 10
    assert last == "… and 2 more notes. `bookwise ingest --json` lists all of them."


def test_search_speaks_the_public_schema(bookwise: CommandLine, book: Path) -> None:
    bookwise("ingest", str(book))
    found = bookwise.json("search", "one request with one response", "--limit", "1")
    assert set(found) == {
        "query", "results", "total_found", "hardware_tier_filter", "module_filter", "book_id", "timings", "notes",
    }  # fmt: skip
    (hit,) = found["results"]  # type: ignore[misc]
    for field in (
        "text", "score", "source_file", "section_title", "module", "chapter", "lesson", "hardware_tier",
        "proficiency_level", "layer", "chunk_index", "total_chunks", "parent_doc_id", "prev_chunk_id",
        "next_chunk_id", "content_hash", "cosine",
    ):  # fmt: skip
        assert field in hit


def test_every_filter_reaches_the_search(bookwise: CommandLine, book: Path) -> None:
    bookwise("ingest", str(book))
    everything = bookwise.json("search", "topic or service")
    assert len(everything["results"]) == 2  # type: ignore[arg-type]
    lesson_id = everything["results"][0]["parent_doc_id"]  # type: ignore[index]
    for nothing in (
        ["--module", "vla"], ["--chapter-min", "900"], ["--lesson", "900"], ["--level", "C2"], ["--layer", "L4"],
        ["--lesson-id", "00000000-0000-0000-0000-000000000000"],
    ):  # fmt: skip
        assert bookwise.json("search", "topic or service", *nothing)["results"] == [], nothing
    one = bookwise.json("search", "topic or service", "--lesson-id", lesson_id, "--tier", "1", "--level", "A2")
    assert len(one["results"]) == 1  # type: ignore[arg-type]


@pytest.mark.parametrize("command", ["search", "ask"])
def test_every_hardware_tier_is_searched_by_default(bookwise: CommandLine, tmp_path: Path, command: str) -> None:
    robot = "---\nhardware_tier: 4\n---\n# Humanoids\n\nA humanoid robot walks on two legs with twelve joints.\n"
    bookwise("ingest", str(write_book(tmp_path / "robots", {"humanoids.md": robot})))
    question = "How many joints has a humanoid robot?"
    for options, hits in (([], 1), (["--tier", "4"], 1), (["--tier", "3"], 0)):
        result = bookwise.json(command, question, *options)
        found = result["results"] if command == "search" else result["context"]["chunks"]
        assert len(found) == hits, options
    assert bookwise(command, "--help") == 0
    assert "POST /search` defaults to 1" in " ".join(bookwise.out.split())


@pytest.mark.parametrize("command", ["search", "ask"])
def test_a_module_that_the_book_does_not_have_is_named_with_those_it_has(
    bookwise: CommandLine, tmp_path: Path, command: str
) -> None:
    lessons = {"bookwise.toml": MODULES, "topics.md": TOPICS}
    bookwise("ingest", str(write_book(tmp_path / "robots", lessons)))
    assert bookwise(command, "many publishers", "--module", "absent") == 2
    assert "has no module 'absent'; it has: basics, more, start." in bookwise.err
    assert bookwise(command, "many publishers", "--module", "start") == 0


def test_the_module_that_a_question_was_limited_to_is_part_of_its_json(bookwise: CommandLine, tmp_path: Path) -> None:
    lessons = {"bookwise.toml": MODULES, "topics.md": TOPICS}
    bookwise("ingest", str(write_book(tmp_path / "robots", lessons)))
    assert bookwise.json("search", "many publishers", "--module", "basics")["module_filter"] == "basics"
    assert bookwise.json("ask", "many publishers", "--module", "basics")["context"]["filter_applied"] == "basics"


def test_lesson_and_context_read_on_from_a_hit(bookwise: CommandLine, book: Path) -> None:
    bookwise("ingest", str(book))
    (hit, *_) = bookwise.json("search", "one request")["results"]  # type: ignore[misc]
    whole = bookwise.json("lesson", hit["parent_doc_id"])
    assert [c["id"] for c in whole["chunks"]] == [hit["chunk_id"]]  # type: ignore[union-attr, index]
    assert bookwise.json("lesson", "services.md") == whole
    assert bookwise.json("context", hit["chunk_id"], "--before", "2") == whole
    assert bookwise("lesson", "services.md") == 0
    assert "exactly one response" in bookwise.out


def test_a_second_ingest_does_only_what_changed(bookwise: CommandLine, book: Path) -> None:
    bookwise("ingest", str(book))
    (book / "topics.md").write_text(TOPICS + "\nMore about topics is said here.\n")
    (book / "services.md").rename(book / "calls.md")
    planned = bookwise.json("changes", str(book))
    assert (planned["new"], planned["modified"], planned["deleted"]) == (
        ["calls.md"], ["topics.md"], ["services.md"],
    )  # fmt: skip
    job = bookwise.json("ingest", str(book))["job"]
    assert job["files_processed"] + job["files_skipped"] == job["total_files"] == 2  # type: ignore[index]
    assert (job["files_processed"], job["files_withdrawn"]) == (2, 1)  # type: ignore[index]
    again = bookwise.json("ingest", str(book))["job"]
    assert (again["files_processed"], again["files_skipped"], again["chunks_created"]) == (0, 2, 0)  # type: ignore[index]


def test_a_bad_lesson_is_reported_and_the_rest_goes_on(bookwise: CommandLine, book: Path) -> None:
    (book / "latin.md").write_bytes("# Caf\u00e9\n".encode("latin-1"))
    assert bookwise("ingest", str(book)) == 1
    assert "latin.md" in bookwise.err
    assert "encoding" in bookwise.err
    job = bookwise.json("jobs", "1")
    assert job["job"]["files_failed"] == 1  # type: ignore[index]
    assert {"latin.md": "failed"} in [{entry["source_file"]: entry["status"]} for entry in job["lessons"]]  # type: ignore[attr-defined]
    assert bookwise("search", "one request with one response") == 0


def test_books_and_jobs_say_what_is_there(bookwise: CommandLine, book: Path) -> None:
    assert bookwise.json("books") == {"books": []}
    bookwise("ingest", str(book), "--book", "handbook", "--mode", "full")
    (listed,) = bookwise.json("books")["books"]  # type: ignore[misc]
    state = listed["state"]
    assert listed["id"] == "handbook"
    assert state["total_chunks"] == sum(r["chunk_count"] for r in state["records"].values()) == 2
    assert state["last_full_ingest"] is not None
    (job,) = bookwise.json("jobs")["jobs"]  # type: ignore[misc]
    assert (job["mode"], job["status"], job["book_id"]) == ("full", "completed", "handbook")
    assert bookwise("books") == bookwise("jobs") == 0


def test_doctor_finds_and_mends_what_disagrees(bookwise: CommandLine, book: Path) -> None:
    bookwise("ingest", str(book))
    assert bookwise.json("doctor")["healthy"] is True
    (book / "topics.md").unlink()
    assert bookwise("doctor") == 1
    assert "--repair" in bookwise.out
    assert bookwise("doctor", "--repair") == 0
    assert bookwise.json("doctor")["healthy"] is True


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["ingest", "nowhere"], 3, "nowhere"),
        (["ingest", ".", "--mode", "sideways"], 2, "incremental, full, recreate"),
        (["search", "hi"], 3, "no book yet"),
        (["search", "what is this", "--book", "ghost"], 3, "ghost"),
        (["jobs", "77"], 3, "77"),
        (["search", "what", "--limit", "21"], 2, "20"),
        (["search", "what", "--tier", "9"], 2, "tier"),
        (["nonsense"], 2, "nonsense"),
        (["search"], 2, "bookwise search [OPTIONS] {query}"),
        (["search", "what", "--no-such-flag"], 2, "no-such-flag"),
        (["ingest", "ftp://example.org/book"], 2, "http"),
        (["ingest", "http://127.0.0.1:9/"], 2, "127.0.0.1"),
    ],
)
def test_errors_go_to_stderr_with_the_right_exit_code(
    bookwise: CommandLine, arguments: list[str], code: int, said: str
) -> None:
    assert bookwise(*arguments) == code, bookwise.err
    assert bookwise.out == ""
    assert said in bookwise.err
    assert "Traceback" not in bookwise.err


def test_a_short_question_is_refused(bookwise: CommandLine, book: Path) -> None:
    bookwise("ingest", str(book))
    assert bookwise("search", "a") == 2
    assert "3 characters" in bookwise.err


def test_errors_are_json_when_json_was_asked_for(bookwise: CommandLine) -> None:
    assert bookwise("search", "anything", "--json") == 3
    error = json.loads(bookwise.err)["error"]
    assert error["code"] == "not-found"
    assert "bookwise ingest" in error["advice"]


def test_an_unknown_setting_stops_every_command(bookwise: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOOKWISE_EMBEDDDER", "minilm")
    assert bookwise("books") == 6
    assert "BOOKWISE_EMBEDDDER" in bookwise.err
    assert "BOOKWISE_EMBEDDER" in bookwise.err


def test_config_show_masks_secrets(bookwise: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-canary")
    assert bookwise("config", "show") == 0
    assert "canary" not in bookwise.out + bookwise.err
    shown = bookwise.json("config", "show")["settings"]
    assert {"OPENAI_API_KEY", "BOOKWISE_DATA_DIR"} <= {s["name"] for s in shown}  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("embedder", "key", "code"), [("openai", "OPENAI_API_KEY", 6), ("cohere", "COHERE_API_KEY", 6)]
)
def test_an_embedder_without_its_key_names_the_setting(
    bookwise: CommandLine, monkeypatch: pytest.MonkeyPatch, embedder: str, key: str, code: int
) -> None:
    monkeypatch.setenv("BOOKWISE_EMBEDDER", embedder)
    monkeypatch.delenv(key, raising=False)
    assert bookwise("search", "anything") == code
    assert key in bookwise.err


def test_another_embedder_needs_recreate_and_then_works(
    bookwise: CommandLine, book: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bookwise("ingest", str(book))
    monkeypatch.setenv("BOOKWISE_EMBEDDER", "minilm")
    assert bookwise("search", "one request with one response") == 4
    assert "all-MiniLM-L6-v2" in bookwise.err
    assert "recreate" in bookwise.err
    assert bookwise("ingest", str(book)) == 4
    assert bookwise("ingest", str(book), "--mode", "recreate") == 0
    assert bookwise("search", "one request with one response") == 0
    assert bookwise.json("doctor")["healthy"] is True


@pytest.mark.parametrize(
    "command",
    [["search", "one request"], ["ask", "What answers one request?"], ["lesson", "services.md"], ["validate"]],
    ids=lambda command: command[0],
)
def test_another_collection_is_an_error_that_names_the_setting_and_both_collections(
    bookwise: CommandLine, book: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    write_book(book, {"bookwise.toml": QUESTIONS})
    bookwise("ingest", str(book))
    monkeypatch.setenv("QDRANT_COLLECTION_NAME", "robots_2")
    assert bookwise(*command) == 4, bookwise.out
    for part in ("QDRANT_COLLECTION_NAME=textbook_chunks", "'robots_2'", "bookwise ingest"):
        assert part in bookwise.err


def test_a_book_can_be_ingested_into_another_collection(
    bookwise: CommandLine, book: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bookwise("ingest", str(book))
    monkeypatch.setenv("QDRANT_COLLECTION_NAME", "robots_2")
    assert bookwise("ingest", str(book)) == 0
    assert bookwise("search", "one request") == 0
    monkeypatch.delenv("QDRANT_COLLECTION_NAME")
    assert bookwise("search", "one request") == 4
    assert "QDRANT_COLLECTION_NAME=robots_2" in bookwise.err


def test_doctor_notes_an_index_that_a_server_should_take_over(
    bookwise: CommandLine, book: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bookwise("ingest", str(book))
    assert bookwise.json("doctor")["notes"] == []
    monkeypatch.setattr("bookwise.operations.doctor.EMBEDDED_CHUNKS_MAX", 1)
    assert bookwise("doctor") == 0, "a note is no problem"
    assert "Above 1, use a Qdrant server: `bookwise move --to qdrant`" in bookwise.out


def test_doctor_does_not_repair_a_book_of_another_collection(
    bookwise: CommandLine, book: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bookwise("ingest", str(book))
    monkeypatch.setenv("QDRANT_COLLECTION_NAME", "robots_2")
    assert bookwise("doctor", "--repair") == 1
    assert "textbook_chunks" in bookwise.out
    monkeypatch.delenv("QDRANT_COLLECTION_NAME")
    assert bookwise.json("doctor")["healthy"] is True


def test_text_from_the_book_is_never_markup(bookwise: CommandLine, tmp_path: Path) -> None:
    evil = "# [bold red]Title[/] \x1b[31m\n\nText with [link=file:///etc/passwd]markup[/link] inside it.\n"
    bookwise("ingest", str(write_book(tmp_path / "evil", {"evil.md": evil})))
    assert bookwise("search", "text with markup inside") == 0
    assert "[bold red]Title[/]" in bookwise.out
    assert "\x1b" not in bookwise.out


@pytest.mark.parametrize("command", [*COMMANDS, "books remove", "keys create", "keys list", "config show"])
def test_help_is_there_for_every_command(bookwise: CommandLine, command: str) -> None:
    assert bookwise(*command.split(), "--help") == 0
    assert f"Usage: bookwise {command}" in bookwise.out


def test_the_list_of_commands_describes_each_in_a_whole_sentence(
    bookwise: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert bookwise("--help") == 0
    listed = bookwise.out.partition("Commands:")[2]
    assert all(f"\n  {command} " in listed for command in COMMANDS)
    assert "..." not in listed


def test_the_version_is_shown(bookwise: CommandLine) -> None:
    assert bookwise("--version") == 0
    assert "bookwise 0" in bookwise.out


def test_the_version_needs_no_command() -> None:
    assert program(["--version"]).registered_commands == []
    assert len(program([]).registered_commands) > 15


def test_the_data_folder_can_come_from_the_environment(
    bookwise: CommandLine, book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BOOKWISE_DATA_DIR", str(tmp_path / "elsewhere"))
    assert run_with(["ingest", str(book)]) == 0
    assert os.listdir(tmp_path / "elsewhere")
