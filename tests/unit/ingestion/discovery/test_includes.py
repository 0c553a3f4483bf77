"""What a lesson includes is part of it. What cannot be included is reported, and never fails the lesson."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from bookwise.ingestion.discover import Discovery, discover, read_lesson
from bookwise.ingestion.discovery.includes import MAX_INCLUDED_TEXT, MAX_INCLUDES, with_includes
from bookwise.ingestion.parse import parse
from tests.support.folders import found, written

LESSON = "# Arms\n\n{{< include parts/_grip.qmd >}}\n\nEnd.\n"
MAIN_RS = """use std::io;
// ANCHOR: all
fn main() {
    // ANCHOR: here
    grip();
    // ANCHOR_END: here
    wait();
    // ANCHOR: here
    release();
    // ANCHOR_END: here
}
// ANCHOR_END: all
"""


def mdbook(root: Path, lesson: str, files: Mapping[str, str | bytes] | None = None) -> Discovery:
    summary = {"book.toml": "[book]\ntitle = 'B'", "src/SUMMARY.md": "- [Arms](arms.md)"}
    return found(root, {**summary, "listings/main.rs": MAIN_RS, "src/arms.md": lesson, **(files or {})})


def shown(root: Path, discovery: Discovery) -> str:
    """The text of the only lesson as readers see it."""
    [file] = discovery.files
    lesson = parse(file, read_lesson(root, file))
    return "\n\n".join(block.text for section in lesson.sections for block in section.blocks)


class TestQuarto:
    def test_an_included_file_is_part_of_the_lesson(self, tmp_path: Path) -> None:
        files = {"_quarto.yml": "project: {type: website}", "arms.qmd": LESSON, "parts/_grip.qmd": "Grip it."}
        [before] = found(tmp_path, files).files
        assert read_lesson(tmp_path, before) == b"# Arms\n\nGrip it.\n\nEnd.\n"
        [after] = found(tmp_path, files | {"parts/_grip.qmd": "Grip it hard."}).files
        assert before.file_hash != after.file_hash

    def test_includes_are_relative_to_their_file_or_to_the_project(self, tmp_path: Path) -> None:
        files = {
            "a/arms.qmd": "{{< include _one.qmd >}}\n{{< include /b/_two.qmd >}}",
            "a/_one.qmd": "one {{< include x >}}",
            "b/_two.qmd": "{{< include _three.qmd >}}",
            "b/_three.qmd": "three",
        }
        root = written(tmp_path, files)
        [lesson] = discover(root).files
        assert read_lesson(root, lesson) == b"one {{< include x >}}\nthree"

    def test_a_file_outside_or_missing_is_left_out_with_a_warning(self, tmp_path: Path) -> None:
        written(tmp_path, {"secret.qmd": "secret"})
        files = {"a.qmd": "# A\n{{< include ../secret.qmd >}}\n{{< include none.qmd >}}\nB"}
        discovery = found(tmp_path / "book", files)
        assert shown(tmp_path / "book", discovery) == "# A\n\nB"
        assert discovery.warnings == (
            "a.qmd: 2 of 2 includes were left out. "
            "The first is ../secret.qmd: it is outside the book's folder, or hidden.",
        )


class TestMdbook:
    @pytest.mark.parametrize(
        ("statement", "code"),
        [
            ("{{#include ../listings/main.rs:here}}", "    grip();"),
            ("{{#rustdoc_include ../listings/main.rs:here}}", "    grip();\n    release();"),
            ("{{#include ../listings/main.rs:1}}", "use std::io;"),
            ("{{#include ../listings/main.rs:5:7}}", "    grip();\n    wait();"),
            ("{{#include ../listings/main.rs::3}}", "use std::io;\nfn main() {"),
            ("{{#include ../listings/main.rs:9:}}", "    release();\n}"),
            ("{{ #rustdoc_include ../listings/main.rs:11:11 }}", "}"),
            ("{{#rustdoc_include ../listings/main.rs:all}}",
             "fn main() {\n    grip();\n    wait();\n    release();\n}"),
        ],
    )  # fmt: skip
    def test_a_part_of_a_file_is_code_of_the_lesson(self, tmp_path: Path, statement: str, code: str) -> None:
        discovery = mdbook(tmp_path, f"# Arms\n\n```rust\n{statement}\n```\n")
        assert shown(tmp_path, discovery) == f"# Arms\n\n```rust\n{code}\n```"
        assert discovery.warnings == ()

    def test_an_edited_listing_makes_its_lesson_change(self, tmp_path: Path) -> None:
        lesson = "# Arms\n\n```rust\n{{#include ../listings/main.rs:here}}\n```\n"
        [before] = mdbook(tmp_path, lesson).files
        [after] = mdbook(tmp_path, lesson, {"listings/main.rs": MAIN_RS.replace("grip", "hold")}).files
        [elsewhere] = mdbook(tmp_path, lesson, {"listings/main.rs": MAIN_RS.replace("io", "fs")}).files
        assert before.file_hash == elsewhere.file_hash != after.file_hash

    def test_included_markdown_may_include_more(self, tmp_path: Path) -> None:
        files = {"parts/one.md": "One.\n\n{{#include deep/two.md}}\n", "parts/deep/two.md": "Two *words*.\n"}
        discovery = mdbook(tmp_path, "# Arms\n\n{{#include ../parts/one.md}}\n\nEnd.\n", files)
        assert shown(tmp_path, discovery) == "# Arms\n\nOne.\n\nTwo *words*.\n\nEnd."

    def test_a_playground_is_rust_code(self, tmp_path: Path) -> None:
        discovery = mdbook(tmp_path, "# Arms\n\n{{#playground a.rs editable}}\n", {"src/a.rs": "# use b;\nfn a() {}\n"})
        assert shown(tmp_path, discovery) == "# Arms\n\n```rust\nfn a() {}\n```"

    def test_code_in_a_list_keeps_its_indent(self, tmp_path: Path) -> None:
        lesson = "# Arms\n\n- Do this:\n\n  ```rust\n  {{#include ../listings/main.rs:4:7}}\n  ```\n- And that.\n"
        shown_text = shown(tmp_path, mdbook(tmp_path, lesson))
        assert shown_text == "# Arms\n\n- Do this:\n\n  ```rust\n      grip();\n      wait();\n  ```\n- And that."

    def test_an_escaped_statement_is_text(self, tmp_path: Path) -> None:
        discovery = mdbook(tmp_path, "# Arms\n\nWrite \\{{#include ../listings/main.rs}} there.\n")
        assert "grip" not in shown(tmp_path, discovery)
        assert discovery.warnings == ()

    @pytest.mark.parametrize(
        ("target", "reason"),
        [
            ("none.rs", "there is no such file in the book's folder."),
            ("../../outside.rs", "it is outside the book's folder, or hidden."),
            ("/etc/hostname", "there is no such file in the book's folder."),
            ("../.bookwise/lock", "it is outside the book's folder, or hidden."),
            ("../listings/link.rs", "listings/link.rs links to a file outside the book's folder."),
            ("../listings", "listings is not a regular file."),
            ("../listings/binary", "it is not text in UTF-8."),
            ("../listings/main.rs:nowhere", "the file has no such part."),
            ("arms.md", "the file includes itself."),
        ],
    )
    def test_a_file_that_cannot_be_included_costs_a_warning(self, tmp_path: Path, target: str, reason: str) -> None:
        book = tmp_path / "book"
        written(
            tmp_path, {"outside.rs": "secret", "book/.bookwise/lock": "secret", "book/listings/binary": b"\xff\x00"}
        )
        os.symlink(tmp_path / "outside.rs", book / "listings/link.rs")
        lesson = f"# Arms\n\n```rust\n{{{{#include {target}}}}}\n```\n\nEnd.\n"
        discovery = mdbook(book, lesson)
        assert shown(book, discovery) == "# Arms\n\nEnd."
        path = target.partition(":")[0]
        assert discovery.warnings == (f"src/arms.md: 1 include was left out. It is {path}: {reason}",)

    def test_a_lesson_counts_what_is_missing(self, tmp_path: Path) -> None:
        lesson = "# Arms\n\n{{#include ../listings/main.rs:here}}\n\n{{#include a.rs}}\n\n{{#include b.rs}}\n"
        [warning] = mdbook(tmp_path, lesson).warnings
        assert warning.startswith("src/arms.md: 2 of 3 includes were left out. The first is a.rs: ")


class TestMkdocs:
    CODE = "import os\n\ndef grip():\n    pass\n"

    def book(self, root: Path, lesson: str, files: Mapping[str, str | bytes]) -> Discovery:
        return found(root, {"docs/en/mkdocs.yml": "site_name: B", "docs/en/docs/a/arms.md": lesson, **files})

    @pytest.mark.parametrize(
        ("statement", "text"),
        [
            ("{* ../../docs_src/main.py hl[3] *}", "```python\nimport os\n\ndef grip():\n    pass\n```"),
            ("{* ../../docs_src/main.py ln[3:4] hl[3] *}", "```python\ndef grip():\n    pass\n```"),
            ("{* ../../docs_src/main.py ln[1,4] *}", "```python\nimport os\n    pass\n```"),
            ("```py\n{!../../docs_src/main.py!}\n```", "```py\nimport os\n\ndef grip():\n    pass\n```"),
            ('```py\n--8<-- "main.py:3:4"\n```', "```py\ndef grip():\n    pass\n```"),
            ('--8<-- "notes.md:second"', "Two."),
            ("--8<--\nnotes.md::1\nnone.md\n--8<--", "One."),
        ],
    )
    def test_paths_are_relative_to_a_folder_above(self, tmp_path: Path, statement: str, text: str) -> None:
        notes = "One.\n<!-- --8<-- [start:second] -->\nTwo.\n<!-- --8<-- [end:second] -->\n"
        files = {"docs_src/main.py": self.CODE, "docs/en/main.py": self.CODE, "docs/en/notes.md": notes}
        discovery = self.book(tmp_path, f"# Arms\n\n{statement}\n", files)
        assert shown(tmp_path, discovery) == f"# Arms\n\n{text}"

    def test_missing_files_and_addresses_are_reported(self, tmp_path: Path) -> None:
        lesson = '# Arms\n\n{* ../../docs_src/main.py *}\n\n--8<-- "https://a.example/x.md"\n'
        discovery = self.book(tmp_path, lesson, {})
        assert shown(tmp_path, discovery) == "# Arms"
        [warning] = discovery.warnings
        assert warning.startswith("docs/en/docs/a/arms.md: 2 of 2 includes were left out. The first is ../../docs_src/")


class TestSphinx:
    CODE = "import os\n\ndef grip():\n    pass\n"

    @pytest.mark.parametrize(
        ("options", "code"),
        [
            ("", "import os\n\ndef grip():\n    pass"),
            ("   :language: python\n   :lines: 1,3-\n", "import os\ndef grip():\n    pass"),
            ("   :start-after: import\n   :end-at: def\n", "\ndef grip():"),
        ],
    )
    def test_included_code_is_code(self, tmp_path: Path, options: str, code: str) -> None:
        lesson = f"Arms\n====\n\n.. literalinclude:: code/main.py\n{options}\nEnd.\n"
        discovery = found(tmp_path, {"conf.py": "", "index.rst": lesson, "code/main.py": self.CODE})
        assert shown(tmp_path, discovery) == f"# Arms\n\n```python\n{code.strip()}\n```\n\nEnd."

    def test_included_text_is_text(self, tmp_path: Path) -> None:
        lesson = "Arms\n====\n\n- One\n\n  .. include:: /part.txt\n\nEnd.\n"
        discovery = found(tmp_path, {"conf.py": "", "a/index.rst": lesson, "index.rst": "I\n=\n", "part.txt": "Two.\n"})
        lessons = [parse(file, read_lesson(tmp_path, file)) for file in discovery.files]
        texts = [block.text for lesson in lessons for section in lesson.sections for block in section.blocks]
        assert "- One\n\n  Two." in texts

    def test_myst_includes_code(self, tmp_path: Path) -> None:
        lesson = "# Arms\n\n```{literalinclude} main.py\n:lines: 3-4\n```\n"
        discovery = found(tmp_path, {"_toc.yml": "root: arms", "arms.md": lesson, "main.py": self.CODE})
        assert shown(tmp_path, discovery) == "# Arms\n\n```python\ndef grip():\n    pass\n```"

    def test_options_that_need_more_than_the_text_are_reported(self, tmp_path: Path) -> None:
        lesson = "Arms\n====\n\n.. literalinclude:: main.py\n   :pyobject: grip\n"
        discovery = found(tmp_path, {"conf.py": "", "index.rst": lesson, "main.py": self.CODE})
        assert discovery.warnings == (
            "index.rst: 1 include was left out. It is main.py: Bookwise cannot read this kind of include.",
        )


class TestHugo:
    @pytest.mark.parametrize(
        ("reference", "text"),
        [
            ('{{< ref "tail.md" >}}', "Tail and fins"),
            ('{{% relref "/docs/tail#top" %}}', "Tail and fins"),
            ('{{< ref path="wing" >}}', "Wings"),
            ('[the tail]({{< ref "tail.md" >}})', "[the tail](tail.md)"),
            ('[gone]({{< ref "missing.md" >}})', "[gone](missing.md)"),
            ('{{< ref "missing.md" >}}', ""),
        ],
    )
    def test_a_reference_shows_its_text_or_the_title_of_the_page(
        self, tmp_path: Path, reference: str, text: str
    ) -> None:
        files = {
            "hugo.toml": "baseURL = 'https://b.example/'",
            "content/docs/arms.md": f"---\ntitle: Arms\n---\nSee {reference}.\n",
            "content/docs/tail.md": "---\ntitle: Tail and fins\n---\nText.\n",
            "content/docs/wing/_index.md": "# Wings #\n",
        }
        discovery = found(tmp_path, files)
        [file] = [file for file in discovery.files if file.source_file.endswith("arms.md")]
        lesson = parse(file, read_lesson(tmp_path, file))
        assert [block.text for section in lesson.sections for block in section.blocks][-1] == f"See {text}."
        assert discovery.warnings == ()


def test_raw_imports_of_docusaurus_are_reported(tmp_path: Path) -> None:
    lesson = "import Code from '!!raw-loader!./main.py';\n\n# Arms\n"
    discovery = found(tmp_path, {"docusaurus.config.js": "export default {}", "docs/arms.mdx": lesson})
    assert discovery.warnings[-1:] == (
        "docs/arms.mdx: 1 include was left out. It is ./main.py: Bookwise cannot read this kind of include.",
    )


def test_includes_that_never_end_are_cut() -> None:
    reads: list[str] = []

    def read(name: str) -> bytes:
        reads.append(name)
        return b"".join(b"{{< include %d.qmd >}}\n" % (len(reads) * 10 + n) for n in range(10))

    with_includes("a.qmd", read("a.qmd"), "quarto", read)
    assert len(reads) <= MAX_INCLUDES + 1


@pytest.mark.parametrize(
    "statement",
    [
        " " * 100_000 + "{{#include big.txt}}",
        "{* big.txt ln[" + "1:," * 100_000 + "1:] *}",
        "{{#include big.txt}}\n" * 150,
        '--8<-- "nested.md"',
    ],
)
def test_small_files_cannot_include_endless_text(statement: str) -> None:
    files = {"big.txt": b"x\n" * 200_000, "nested.md": b" " * 5_000 + b"{{#include big.txt}}\n"}
    expanded = with_includes("a.md", statement.encode(), "folder", files.__getitem__)
    assert len(expanded.raw) <= MAX_INCLUDED_TEXT + len(statement)
    assert "left out" in expanded.warning


@pytest.mark.parametrize("mark", ["{{#include ", "--8<--\n", "{* ", "```{include} a\n", ":::{include} a\n:b: c\n"])
def test_a_hostile_text_costs_no_more_than_a_long_one(mark: str) -> None:
    raw = (mark * 50_000).encode()
    with_includes("a.md", raw, "folder", lambda name: b"")
