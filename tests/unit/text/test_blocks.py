"""Markdown comes apart into whole blocks."""

import pytest

from bookwise.text.blocks import markdown_blocks


def kinds(markdown: str) -> list[str]:
    return [block.kind for block in markdown_blocks(markdown)]


def test_headings_paragraphs_lists_code_and_tables_are_blocks_in_reading_order() -> None:
    text = "# A\n\nOne\ntwo.\n\n- x\n- y\n\n```sh\nrun\n\nmore\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\nEnd.\n"
    assert [(block.kind, block.text) for block in markdown_blocks(text)] == [
        ("heading", "# A"),
        ("paragraph", "One\ntwo."),
        ("list", "- x\n- y"),
        ("code", "```sh\nrun\n\nmore\n```"),
        ("table", "| a | b |\n|---|---|\n| 1 | 2 |"),
        ("paragraph", "End."),
    ]


@pytest.mark.parametrize(
    "markdown",
    [
        "1. One\n\n2. Two\n\n3. Three",
        "- One\n\n  still one\n\n- Two",
        "- One\n  - nested\n  - more\n- Two",
        "1. Run this:\n\n   ```sh\n   make\n\n   make test\n   ```\n\n2. Look.",
        "- One\nlazy line\n- Two",
    ],
)
def test_a_list_is_one_block_with_everything_inside_its_items(markdown: str) -> None:
    assert [(block.kind, block.text) for block in markdown_blocks(markdown)] == [("list", markdown)]


def test_a_paragraph_after_a_blank_line_ends_a_list() -> None:
    assert kinds("- One\n- Two\n\nAfter.") == ["list", "paragraph"]


def test_a_fence_that_is_never_closed_runs_to_the_end() -> None:
    assert kinds("Text.\n\n~~~\nno end\n\n# not a heading") == ["paragraph", "code"]


def test_nothing_has_no_blocks() -> None:
    assert markdown_blocks("\n \n") == []
