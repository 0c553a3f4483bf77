"""Markdown of every sort falls into sentences, items, code, tables and headings, and nothing of it is lost."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bookwise.text.blocks import markdown_blocks
from bookwise.text.sentences import sentences, units


def kinds(markdown: str) -> list[tuple[str, str]]:
    return [(unit.kind, unit.text) for unit in units(markdown)]


@pytest.mark.parametrize(
    ("paragraph", "expected"),
    [
        ("One. Two! Three? Four… Five", ["One.", "Two!", "Three?", "Four…", "Five"]),
        ("Use e.g. Python. It works.", ["Use e.g. Python.", "It works."]),
        ("Some, i.e. Two, are left.", ["Some, i.e. Two, are left."]),
        ("See Fig. 3 and Sec. Two. Then go on.", ["See Fig. 3 and Sec. Two.", "Then go on."]),
        ("Dr. Ada met Prof. Bell. They spoke.", ["Dr. Ada met Prof. Bell.", "They spoke."]),
        ("J. S. Bach wrote it. He lived in Leipzig.", ["J. S. Bach wrote it.", "He lived in Leipzig."]),
        ("Rust vs. Go is a long story. It goes on.", ["Rust vs. Go is a long story.", "It goes on."]),
        ("Version 2.0 is out. Get it.", ["Version 2.0 is out.", "Get it."]),
        ("Run `a. B` and `c! D`. Done.", ["Run `a. B` and `c! D`.", "Done."]),
        ("Call `node.spin()`. `rclpy` does the rest.", ["Call `node.spin()`.", "`rclpy` does the rest."]),
        ('He said "Stop." Then he left.', ['He said "Stop."', "Then he left."]),
        ("It is **over.** Next one.", ["It is **over.**", "Next one."]),
        ("(It is so.) Next one.", ["(It is so.)", "Next one."]),
        ("Stop. *Rolling* is next.", ["Stop.", "*Rolling* is next."]),
        ("The file ends in .py and so on. ok", ["The file ends in .py and so on. ok"]),
        ("Äpfel sind rot. Öl ist gelb.", ["Äpfel sind rot.", "Öl ist gelb."]),
        ("One line.\nAnother line\ngoes on. End.", ["One line.", "Another line\ngoes on.", "End."]),
        ("What is it? A node.", ["What is it?", "A node."]),
    ],
)
def test_a_paragraph_falls_into_its_sentences(paragraph: str, expected: list[str]) -> None:
    assert sentences(paragraph) == expected
    assert {kind for kind, _ in kinds(paragraph)} == {"sentence"}


def test_headings_stand_apart_from_the_text_below_them() -> None:
    assert kinds("# Title\nText here.\n## Next. Part\nMore.") == [
        ("heading", "# Title"),
        ("sentence", "Text here."),
        ("heading", "## Next. Part"),
        ("sentence", "More."),
    ]


def test_a_hash_without_a_space_is_no_heading() -> None:
    assert kinds("#hashtag is text.") == [("sentence", "#hashtag is text.")]


def test_each_list_item_is_one_unit_with_its_indented_lines() -> None:
    text = "Three of them:\n- First one. Of two sentences.\n  It goes on.\n* Second\n+ Third\n\nAfter."
    assert kinds(text) == [
        ("sentence", "Three of them:"),
        ("item", "- First one. Of two sentences.\n  It goes on."),
        ("item", "* Second"),
        ("item", "+ Third"),
        ("sentence", "After."),
    ]


def test_nested_items_are_items_of_their_own() -> None:
    text = "1. Mix.\n   - Flour\n   - Water\n     cold\n2) Bake.\n"
    assert [text for _, text in kinds(text)] == ["1. Mix.", "- Flour", "- Water\n     cold", "2) Bake."]
    assert {kind for kind, _ in kinds(text)} == {"item"}


def test_a_year_at_the_start_of_a_line_is_no_item() -> None:
    assert kinds("It was\n1999. A good year.") == [("sentence", "It was\n1999."), ("sentence", "A good year.")]


def test_code_stays_whole_with_its_fences() -> None:
    code = "```bash\n# not a heading\nsudo apt update. Then wait.\n- not an item\n\n| not | a table |\n```"
    assert kinds(f"Run this:\n\n{code}\n\nDone.") == [("sentence", "Run this:"), ("code", code), ("sentence", "Done.")]


@pytest.mark.parametrize(
    "code",
    [
        "````markdown\n```bash\nls\n```\n````",
        "~~~\n```\nls\n```\n~~~",
        "```\n~~~\nls\n~~~\n```",
        "```text\n``` not the end\n```",
        "```\nls\n`````",
        "   ```\n   ls\n   ```",
    ],
)
def test_a_fence_ends_only_with_its_own_kind_and_length(code: str) -> None:
    found = units(f"Before.\n\n{code}\n\nAfter. End.")
    assert [unit.kind for unit in found] == ["sentence", "code", "sentence", "sentence"]
    assert found[1].text == code.strip()


def test_an_unclosed_fence_is_code_to_the_end() -> None:
    assert kinds("Look:\n```python\nx = 1\n\n# y. Z\n") == [
        ("sentence", "Look:"),
        ("code", "```python\nx = 1\n\n# y. Z"),
    ]


def test_a_table_stays_whole() -> None:
    table = "| Tier | Name |\n|---|---|\n| 1 | Laptop. Any. |"
    assert kinds(f"The tiers:\n{table}\nAfter.") == [
        ("sentence", "The tiers:"),
        ("table", table),
        ("sentence", "After."),
    ]


def test_the_text_of_an_admonition_keeps_its_sentences() -> None:
    found = sentences(":::warning Take care\nDo not touch. It is hot.\n:::\n\nGo on.")
    assert found[-1] == "Go on."
    assert "It is hot.\n:::" in found


def test_leftovers_of_front_matter_are_text_and_harm_nothing() -> None:
    assert sentences("---\ntitle: Nodes\n---\n\nA node is small.")[-1] == "A node is small."


def test_windows_line_ends_make_no_difference() -> None:
    text = "# Title\n\nOne. Two.\n\n- a\n- b\n\n```bash\nls\n```\n\n| a |\n|---|\n| b |\n\nEnd."
    there = units(text.replace("\n", "\r\n"))
    assert [(unit.kind, unit.text.replace("\r\n", "\n")) for unit in there] == kinds(text)


@pytest.mark.parametrize("text", ["", "\n", "  \n\t\n", "\r\n\r\n"])
def test_nothing_has_no_units(text: str) -> None:
    assert units(text) == []


SCRAPS = [
    *("One sentence. ", "Another", "e.g. ", "Is it?", "`a. B` ", "`", "**bold.** ", "Äh! ", "…", ". ", " ", "A.B."),
    *("\n", "\n\n", "\r\n", "\n  ", "\t", "\u2028", "\x0b", "\x85"),
    *("- item", "  - nested", "1. step", "12) step", "* ", "+ x"),
    *("```", "````", "~~~", "```bash\n", "\n```\n", "# Heading", "####### none", "#", "| a | b |", "|---|---|", "|"),
    *(":::tip", ":::", "> quoted", "---", "title: x", "<b>", "[link](url. Here)", "$$", "![](x)", "[^1]"),
]


@settings(deadline=None)
@given(st.lists(st.one_of(st.sampled_from(SCRAPS), st.text(max_size=5)), max_size=30).map("".join))
def test_units_stand_in_the_source_in_order_without_overlap_and_nothing_is_lost(markdown: str) -> None:
    end, outside = 0, ""
    for unit in units(markdown):
        assert unit.text
        assert markdown[unit.start : unit.start + len(unit.text)] == unit.text
        assert unit.start >= end
        outside += markdown[end : unit.start]
        end = unit.start + len(unit.text)
    assert not (outside + markdown[end:]).strip()


def test_a_fence_deep_inside_an_item_is_code() -> None:
    markdown = "1. Rebuild the package:\n     ```bash\n     colcon build\n     ```\n2. Run it."
    code = "```bash\n     colcon build\n     ```"
    assert kinds(markdown) == [("item", "1. Rebuild the package:"), ("code", code), ("item", "2. Run it.")]


def test_a_number_alone_on_a_line_belongs_to_the_sentence() -> None:
    text = "The secret number this time is\n38.\n"
    assert kinds(text) == [("sentence", text.strip())]
    assert [block.kind for block in markdown_blocks(text)] == ["paragraph"]


@given(st.lists(st.sampled_from(["# A", "A b.", "- c", "  d", "2. e", "```", "| f |", ""]), max_size=12))
def test_blocks_and_units_agree_on_headings_and_tables(lines: list[str]) -> None:
    """Outside of lists, which only `markdown_blocks` keeps whole, both find the same blocks."""
    text = "\n".join(line for line in lines if not line.startswith(("- ", "2. ", "  ")))
    whole = [(block.kind, block.text) for block in markdown_blocks(text) if block.kind != "paragraph"]
    assert whole == [(unit.kind, unit.text) for unit in units(text) if unit.kind != "sentence"]
