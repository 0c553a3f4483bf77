"""What a Quarto lesson includes is part of it."""

from pathlib import Path

from bookwise.ingestion.discover import discover, read_lesson
from bookwise.ingestion.discovery.includes import MAX_INCLUDES, with_includes
from tests.support.folders import found, written

LESSON = "# Arms\n\n{{< include parts/_grip.qmd >}}\n\nEnd.\n"


def test_an_included_file_is_part_of_the_lesson(tmp_path: Path) -> None:
    files = {"_quarto.yml": "project: {type: website}", "arms.qmd": LESSON, "parts/_grip.qmd": "Grip it."}
    [before] = found(tmp_path, files).files
    assert read_lesson(tmp_path, before) == b"# Arms\n\nGrip it.\n\nEnd.\n"
    [after] = found(tmp_path, files | {"parts/_grip.qmd": "Grip it hard."}).files
    assert before.file_hash != after.file_hash


def test_includes_are_relative_to_their_file_or_to_the_project(tmp_path: Path) -> None:
    files = {
        "a/arms.qmd": "{{< include _one.qmd >}}\n{{< include /b/_two.qmd >}}",
        "a/_one.qmd": "one {{< include x >}}",
        "b/_two.qmd": "{{< include _three.qmd >}}",
        "b/_three.qmd": "three",
    }
    root = written(tmp_path, files)
    [lesson] = discover(root).files
    assert read_lesson(root, lesson) == b"one {{< include x >}}\nthree"


def test_a_file_outside_or_missing_is_left_out(tmp_path: Path) -> None:
    written(tmp_path, {"secret.qmd": "secret"})
    root = written(tmp_path / "book", {"a.qmd": "A\n{{< include ../secret.qmd >}}\n{{< include none.qmd >}}\nB"})
    [lesson] = discover(root).files
    assert read_lesson(root, lesson) == b"A\n\n\nB"


def test_includes_that_never_end_are_cut() -> None:
    reads: list[str] = []

    def read(name: str) -> bytes:
        reads.append(name)
        return b"{{< include a.qmd >}}\n" * 10

    with_includes("a.qmd", read("a.qmd"), read)
    assert len(reads) <= MAX_INCLUDES + 1
