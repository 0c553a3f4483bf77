"""Where questions come from, and what is said when they are wrong."""

import json
from pathlib import Path

import pytest

from bookwise.domain.books import Book
from bookwise.domain.errors import BookwiseError, InvalidInput, NotFound
from bookwise.evaluation.dataset import questions_from, questions_of, read_questions

GOOD = {"id": "a", "kind": "answerable", "text": "What is a node?", "lesson": "nodes.md"}
OTHER = {"id": "b", "kind": "off-topic", "text": "Who won the cup?"}
TOML = '[[questions]]\nid = "a"\nkind = "off-topic"\ntext = "Who won the cup?"\n'


def written(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def test_three_formats_give_the_same_questions(tmp_path: Path) -> None:
    as_list = read_questions(written(tmp_path, "q.json", json.dumps([GOOD, OTHER])))
    as_lines = read_questions(written(tmp_path, "q.jsonl", f"{json.dumps(GOOD)}\n\n{json.dumps(OTHER)}\n"))
    tables = "".join(
        "[[questions]]\n" + "".join(f"{name} = {json.dumps(value)}\n" for name, value in table.items())
        for table in (GOOD, OTHER)
    )
    assert as_list == as_lines == read_questions(written(tmp_path, "q.toml", tables))
    assert [question.id for question in as_list] == ["a", "b"]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("q.jsonl", json.dumps(GOOD) + "\n{oops", "line 2"),
        ("q.jsonl", json.dumps(OTHER) + "\n\n" + json.dumps({**GOOD, "kind": "hard"}), "line 3: kind"),
        ("q.jsonl", json.dumps(GOOD) + "\n" + json.dumps(GOOD), "a is used again"),
        ("q.json", json.dumps([OTHER, {**GOOD, "lesson": None}]), "questions[2]: a question of kind answerable needs"),
        ("q.json", json.dumps([{**GOOD, "txet": "x"}]), "questions[1].txet; did you mean text?"),
        ("q.json", json.dumps({"questions": []}), "not a JSON list"),
        ("q.json", "[", "not valid JSON"),
        ("q.toml", "[[questions]\n", "not valid TOML"),
        ("q.toml", TOML.replace('id = "a"\n', ""), "questions[1].id"),
        ("q.csv", "id,kind", ".toml, .json or .jsonl"),
    ],
)
def test_a_complaint_names_the_file_and_the_place(tmp_path: Path, name: str, text: str, said: str) -> None:
    with pytest.raises(InvalidInput) as error:
        read_questions(written(tmp_path, name, text))
    assert said in f"{error.value.message} {error.value.advice}"
    assert error.value.advice
    assert name in error.value.message


def test_a_file_that_is_not_there_or_not_text_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"nothing\.json"):
        read_questions(tmp_path / "nothing.json")
    (tmp_path / "q.json").write_bytes(b'["\xff"]')
    with pytest.raises(InvalidInput, match="UTF-8"):
        read_questions(tmp_path / "q.json")


def test_a_book_brings_its_own_questions_and_a_file_wins_over_them(tmp_path: Path) -> None:
    written(tmp_path, "bookwise.toml", TOML)
    book = Book(id="book", title="Book", source=str(tmp_path))
    assert [question.kind for question in questions_of(book)] == ["off-topic"]
    other = written(tmp_path, "q.json", json.dumps([GOOD]))
    assert [question.kind for question in questions_from(other)] == ["answerable"]


@pytest.mark.parametrize("source", ["", "/nowhere/at/all", "https://example.org/book", "."])
def test_without_questions_the_error_says_how_to_add_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NotFound) as error:
        questions_of(Book(id="book", title="Book", source=source))
    assert "--questions FILE" in error.value.advice


@pytest.mark.parametrize("broken", [{"text": "x" * 1001}, {"text": "   "}, {"history": [" "]}])
def test_a_question_nobody_may_ask_is_named_before_any_is_asked(tmp_path: Path, broken: dict[str, object]) -> None:
    file = written(tmp_path, "q.json", json.dumps([{**GOOD, **broken}]))
    with pytest.raises(BookwiseError, match="question a"):
        questions_from(file)
