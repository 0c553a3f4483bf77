"""A folder becomes a book, and nothing in it is lost without a word."""

import os
from pathlib import Path

import pytest

from bookwise.domain.errors import BadLesson, BadSource, InvalidInput, Misconfigured, SourceNotFound
from bookwise.ingestion.discover import discover, read_lesson
from bookwise.ingestion.plan import plan
from tests.support.folders import found, names, open_folder, rules, without_privileges, written


def test_a_missing_folder_is_reported(tmp_path: Path) -> None:
    for wrong in (tmp_path / "none", tmp_path / ("x" * 300), Path("nul\0byte")):
        with pytest.raises(SourceNotFound, match="There is no folder") as caught:
            discover(wrong)
        assert caught.value.advice


def test_one_file_is_a_book_without_its_neighbours(tmp_path: Path) -> None:
    root = written(
        tmp_path,
        {
            "bookwise.toml": '[book]\nid = "other"',
            "robot-arms.md": "# Robot arms\n\nThey move.",
            "b.md": "b",
            "page.html": "<title>P</title><main><h1>A page</h1></main>",
        },
    )
    book = discover(root / "robot-arms.md")
    assert (book.book_id, book.title, names(book)) == ("robot-arms", "Robot arms", ["robot-arms.md"])
    assert read_lesson(root / "robot-arms.md", book.files[0]) == b"# Robot arms\n\nThey move."
    assert names(discover(root / "page.html")) == ["page.html"]


@pytest.mark.parametrize(
    ("name", "text", "title"),
    [
        ("rope.md", "# Rope *handbook*\n\nPull.\n\n# Knots\n", "Rope handbook"),
        ("rope.md", "---\ntitle: Ropes\n---\n# Rope handbook\n", "Ropes"),
        ("rope.rst", "Rope handbook\n=============\n\nPull.\n", "Rope handbook"),
        ("rope.html", "<title>Rope handbook</title><main><p>Pull.</p></main>", "Rope handbook"),
        ("rope.ipynb", '{"cells": [{"cell_type": "markdown", "source": "# Rope handbook"}]}', "Rope handbook"),
        ("big-rope.md", "Pull.\n", "Big rope"),
        ("rope.md", b"\xff\xfe\xff", "Rope"),
    ],
)
def test_a_book_of_one_file_has_the_title_of_its_lesson(
    tmp_path: Path, name: str, text: str | bytes, title: str
) -> None:
    book = discover(written(tmp_path, {name: text}) / name)
    assert (book.book_id, book.title) == (name.partition(".")[0], title)


def test_the_data_folder_of_bookwise_is_not_reported(tmp_path: Path) -> None:
    files = {"a.md": "# A\n", ".bookwise/sites/x/a.md": "# X\n", ".github/pull.md": "# P\n"}
    assert list(rules(found(tmp_path, files))) == [".github/"]


def test_one_file_of_another_format_is_refused(tmp_path: Path) -> None:
    root = written(tmp_path, {"a.csv": "x", "b.adoc": "= B"})
    with pytest.raises(BadSource, match=r"a\.csv is not a lesson\."):
        discover(root / "a.csv")
    with pytest.raises(BadSource, match="AsciiDoc is not supported: 1 file left out"):
        discover(root / "b.adoc")


def test_asciidoc_is_left_out_with_the_way_to_convert_it(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"antora.yml": "", "modules/ROOT/pages/index.adoc": "= A", "b.asciidoc": "= B"}
    with pytest.raises(BadSource, match=r"contains no lessons\. AsciiDoc is not supported: 2 files"):
        found(tmp_path, files)
    [warning] = found(tmp_path, files | {"a.md": "a"}).warnings
    assert "asciidoctor" in warning


def test_a_folder_without_read_permission_is_reported() -> None:
    with open_folder() as root:
        written(root, {"book/a.md": "a"})
        (root / "book").chmod(0)
        with without_privileges(), pytest.raises(SourceNotFound, match="No permission to read"):
            discover(root / "book")


@pytest.mark.parametrize(
    ("files", "because"),
    [({}, ""), ({"notes.txt": "x"}, ""), ({"LICENSE.md": "x", "x.html": "x"}, "by these rules: not-a-lesson")],
)
def test_a_folder_without_lessons_is_reported(tmp_path: Path, files: dict[str, str | bytes], because: str) -> None:
    with pytest.raises(BadSource, match="contains no lessons") as caught:
        found(tmp_path, files)
    assert because in caught.value.message
    assert ".md" in caught.value.advice


def test_a_book_whose_lessons_all_fail_is_still_a_book(tmp_path: Path) -> None:
    discovery = found(tmp_path, {"a.md": b"\xff"})
    assert discovery.files == ()
    assert [one.reason for one in discovery.unreadable] == ["encoding"]


def test_the_id_comes_from_the_caller_the_profile_the_site_or_the_folder(tmp_path: Path) -> None:
    root = written(tmp_path / "My Robots!", {"a.md": "a"})
    assert (discover(root).book_id, discover(root).title) == ("my-robots", "My Robots!")
    written(root, {"mkdocs.yml": "site_name: The Site\ndocs_dir: ."})
    assert discover(root).book_id == "the-site"
    written(root, {"bookwise.toml": '[book]\nid = "own"\ntitle = "Own"'})
    assert (discover(root).book_id, discover(root).title) == ("own", "Own")
    assert discover(root, book_id="asked").book_id == "asked"
    assert {file.book_id for file in discover(root, book_id="asked").files} == {"asked"}


def test_an_unsafe_id_is_refused(tmp_path: Path) -> None:
    written(tmp_path, {"a.md": "a"})
    for unsafe in ("../x", ""):
        with pytest.raises(InvalidInput, match="is not a valid book id"):
            discover(tmp_path, book_id=unsafe)


def test_a_wrong_profile_stops_at_once(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured):
        found(tmp_path, {"bookwise.toml": "[bok]", "a.md": "a"})


def test_the_default_book_knows_its_modules(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "module-2-simulation/chapter-1-x/01-a.md": "a",
        "module-1-ros2/chapter-21-x/01-b.md": "b",
    }
    discovery = discover(written(tmp_path, files), book_id="physical-ai-robotics")
    assert [file.key for file in discovery.files] == ["physical-ai-robotics:gazebo:1:1"]
    assert [one.reason for one in discovery.unreadable] == ["number-out-of-range"]


def test_front_matter_rules_and_defaults_make_the_audience(tmp_path: Path) -> None:
    profile = '[defaults]\nlayer = "L2"\n[[rules]]\npath = "labs/**"\nhardware_tier = 3\n'
    discovery = found(
        tmp_path,
        {"bookwise.toml": profile, "labs/a.md": "---\nproficiency_level: C1\n---\n", "b.md": "b"},
    )
    lab = next(file for file in discovery.files if file.source_file == "labs/a.md")
    assert (lab.audience.hardware_tier, lab.audience.proficiency_level, lab.audience.layer) == (3, "C1", "L2")


def test_progress_is_reported_for_every_file(tmp_path: Path) -> None:
    heard: list[int] = []
    discover(written(tmp_path, {f"{name}.md": name for name in "abc"}), on_file=heard.append)
    assert heard == [1, 2, 3]


def test_a_file_that_vanishes_on_the_way_has_changed(tmp_path: Path) -> None:
    written(tmp_path, {"a.md": "a", "b.md": "b"})
    discovery = discover(tmp_path, on_file=lambda count: (tmp_path / "b.md").unlink(missing_ok=True))
    assert names(discovery) == ["a.md"]
    assert [(one.source_file, one.reason) for one in discovery.unreadable] == [("b.md", "changed")]


def test_one_file_without_read_permission_affects_no_other() -> None:
    with open_folder() as root:
        written(root, {"a.md": "a", "b.md": "b", "c/d.md": "d", "e/f.md": "f"})
        (root / "b.md").chmod(0)
        (root / "c").chmod(0)
        with without_privileges():
            discovery = discover(root)
    assert names(discovery) == ["a.md", "e/f.md"]
    assert [(one.source_file, one.reason) for one in discovery.unreadable] == [
        ("b.md", "permission"),
        ("c/", "permission"),
    ]


def test_a_larger_limit_may_be_set(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"bookwise.toml": "[limits]\nmax_file_bytes = 2000", "a.md": "a" * 2001}
    assert [one.reason for one in found(tmp_path, files | {"b.md": "b" * 2000}).unreadable] == ["too-large"]


def test_the_first_copy_in_reading_order_is_kept(tmp_path: Path) -> None:
    discovery = found(tmp_path, {"10-z.md": "same", "2-a.md": "same", "empty1.md": "", "empty2.md": ""})
    assert names(discovery) == ["2-a.md", "empty1.md", "empty2.md"]
    assert rules(discovery) == {"10-z.md": "identical-copy"}


def test_a_broken_edit_moves_no_other_lesson(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"m/a.md": "a", "m/b.md": "b", "m/c.md": "c"}
    whole = {file.source_file: file.key for file in found(tmp_path, files).files}
    broken = found(tmp_path, files | {"m/b.md": b"\xff"})
    assert {file.source_file: file.key for file in broken.files} == {
        name: key for name, key in whole.items() if name != "m/b.md"
    }


def test_discovering_twice_gives_nothing_to_do(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"a.md": "a", "b/01-c.md": "c"}
    first = found(tmp_path, files)
    assert first == discover(tmp_path)
    assert len(plan(first.files, [], "r", "incremental").publish) == 2


def test_drafts_and_excluded_lessons_are_left_out(tmp_path: Path) -> None:
    discovery = found(
        tmp_path,
        {
            "bookwise.toml": 'exclude = ["notes/", "*.tmp.md"]',
            "a.md": "a",
            "b.md": "---\ndraft: true\n---\n",
            "notes/deep/c.md": "c",
            "d.tmp.md": "d",
        },
    )
    assert names(discovery) == ["a.md"]
    assert rules(discovery) == {"b.md": "draft", "notes/deep/c.md": "excluded", "d.tmp.md": "excluded"}


def test_a_folder_of_lessons_may_be_named(tmp_path: Path) -> None:
    discovery = found(tmp_path, {"bookwise.toml": '[book]\ndocs = "text"', "text/a.md": "a", "b.md": "b"})
    assert names(discovery) == ["text/a.md"]
    assert rules(discovery) == {"b.md": "not-a-lesson"}


def test_a_link_to_the_folder_of_lessons_is_followed_inside_the_book(tmp_path: Path) -> None:
    written(tmp_path, {"content/a.md": "a", "bookwise.toml": '[book]\ndocs = "docs"'})
    (tmp_path / "docs").symlink_to("content")
    discovery = discover(tmp_path)
    assert names(discovery) == ["docs/a.md"]
    assert read_lesson(tmp_path, discovery.files[0]) == b"a"


def test_a_file_itself_is_kept_before_a_link_to_it(tmp_path: Path) -> None:
    written(tmp_path, {"z.md": "z"})
    (tmp_path / "a.md").symlink_to("z.md")
    discovery = discover(tmp_path)
    assert names(discovery) == ["z.md"]
    assert rules(discovery) == {"a.md": "identical-copy"}


def test_links_that_lead_to_each_other_end(tmp_path: Path) -> None:
    written(tmp_path, {"a/x.md": "x", "b/y.md": "y"})
    (tmp_path / "a" / "to-b").symlink_to("../b")
    (tmp_path / "b" / "to-a").symlink_to("../a")
    discovery = discover(tmp_path)
    assert names(discovery) == ["a/x.md", "b/y.md"]
    assert set(rules(discovery).values()) <= {"identical-copy", "symlink-loop"}


def test_a_lesson_that_changed_is_not_read_again_as_if_nothing_happened(tmp_path: Path) -> None:
    [file] = found(tmp_path, {"a.md": "a"}).files
    assert read_lesson(tmp_path, file) == b"a"
    stamp = (tmp_path / "a.md").stat()
    written(tmp_path, {"a.md": "b"})
    os.utime(tmp_path / "a.md", ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    with pytest.raises(BadLesson) as caught:
        read_lesson(tmp_path, file)
    assert caught.value.reason == "changed"


def test_a_lesson_that_became_something_else_is_not_read(tmp_path: Path) -> None:
    secret = written(tmp_path, {"secret": "s"}) / "secret"
    root = tmp_path / "book"
    [file] = found(root, {"a/b.md": "a"}).files
    path = root / "a" / "b.md"
    path.unlink()
    assert reason_of(root, file) == "changed"
    path.symlink_to(secret)
    assert reason_of(root, file) == "symlink-outside"
    path.unlink()
    os.mkfifo(path)
    assert reason_of(root, file) == "not-a-file"
    path.unlink()
    path.mkdir()
    assert reason_of(root, file) == "not-a-file"
    path.rmdir()
    path.parent.rmdir()
    path.parent.write_text("a file in the folder's place")
    assert reason_of(root, file) == "changed"


def reason_of(root: Path, file: object) -> str:
    with pytest.raises(BadLesson) as caught:
        read_lesson(root, file)  # type: ignore[arg-type]
    return caught.value.reason


def test_reading_leaves_no_file_open(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {f"{number}.md": str(number) for number in range(50)}
    written(tmp_path, files | {"bookwise.toml": ""})
    (tmp_path / "x.md").mkdir()
    before = len(os.listdir("/proc/self/fd"))
    discovery = discover(tmp_path)
    for file in discovery.files:
        read_lesson(tmp_path, file)
    assert len(os.listdir("/proc/self/fd")) == before
