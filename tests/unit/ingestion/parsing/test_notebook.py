"""Notebooks → blocks: cells in order, outputs left out."""

import json

import pytest

from bookwise.domain.errors import BadLesson
from tests.support.parsed import lesson, shown


def notebook(*cells: object, **more: object) -> str:
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, **more})


def markdown(source: object) -> dict[str, object]:
    return {"cell_type": "markdown", "source": source}


def code(source: object) -> dict[str, object]:
    outputs = [{"output_type": "stream", "text": "an output"}]
    return {"cell_type": "code", "source": source, "outputs": outputs}


def test_cells_become_blocks_in_order_without_outputs() -> None:
    text = notebook(
        markdown(["# Title\n", "\n", "Text"]),
        code("x = 1\nprint(x)"),
        {"cell_type": "raw", "source": "raw"},
        markdown("## Part\n\n| a |\n|---|\n| b |"),
        code(""),
    )
    assert shown(text, format="notebook") == [
        ("heading", "# Title"),
        ("text", "Text"),
        ("code", "```python\nx = 1\nprint(x)\n```"),
        ("heading", "## Part"),
        ("table", "| a |\n|---|\n| b |"),
    ]


def test_sections_and_title_are_those_of_markdown() -> None:
    found = lesson(notebook(markdown("# Title"), markdown("## Part"), code("x")), format="notebook")
    assert found.title == "Title"
    assert [s.heading_path for s in found.sections] == [(), ("Part",)]


def test_a_fence_left_open_in_one_cell_does_not_swallow_the_next() -> None:
    text = notebook(markdown("```py\nx"), markdown("# Title"))
    assert shown(text, format="notebook") == [("code", "```py\nx\n```"), ("heading", "# Title")]


def test_code_that_holds_fences_gets_a_longer_one() -> None:
    (block,) = shown(notebook(code('s = """\n```\n"""')), format="notebook")
    assert block == ("code", '````python\ns = """\n```\n"""\n````')


@pytest.mark.parametrize(
    ("metadata", "language"),
    [
        ({"kernelspec": {"language": "julia"}}, "julia"),
        ({"language_info": {"name": "ipython3"}}, "python"),
        ({"kernelspec": {"language": "a b\n```"}}, "python"),
        ({"kernelspec": []}, "python"),
        ([], "python"),
    ],
)
def test_the_kernel_names_the_language(metadata: object, language: str) -> None:
    (block,) = shown(notebook(code("x"), metadata=metadata), format="notebook")
    assert block == ("code", f"```{language}\nx\n```")


def test_front_matter_in_the_first_cell_is_not_text() -> None:
    assert shown(notebook(markdown("---\ntitle: A\n---\nText")), format="notebook") == [("text", "Text")]


def test_notebooks_of_format_three_are_read() -> None:
    cells = [{"cell_type": "heading", "level": 2, "source": "Part"}, {"cell_type": "code", "input": ["x"]}]
    text = json.dumps({"worksheets": [{"cells": cells}], "nbformat": 3})
    assert shown(text, format="notebook") == [("heading", "## Part"), ("code", "```python\nx\n```")]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '{"cells": 1}',
        "{}",
        '{"worksheets": []}',
        '{"worksheets": [{"cells": {}}]}',
        notebook(1),
        notebook(markdown(1)),
        notebook(markdown([1])),
        notebook(markdown("a\0b")),
        "[" * 100_000,
        notebook(markdown("\ud800")),
        notebook(markdown(None)),
        '{"cells": [], "a": ' + "9" * 5000 + "}",
    ],
)
def test_what_is_not_a_notebook_is_refused(text: str) -> None:
    with pytest.raises(BadLesson) as caught:
        lesson(text, format="notebook")
    assert caught.value.reason == "notebook"
    assert caught.value.advice


def test_a_notebook_without_cells_is_an_empty_lesson() -> None:
    found = lesson(notebook(), format="notebook", source_file="lessons/02-first_steps.ipynb")
    assert (found.title, found.sections) == ("First steps", ())
