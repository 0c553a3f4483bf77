"""A book's profile or a file → its test questions."""

import json
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from bookwise.domain.answers import QUESTION_MAX
from bookwise.domain.books import Book
from bookwise.domain.errors import InvalidInput, NotFound
from bookwise.ingestion.discovery.profile import PROFILE_FILE, BookProfile, ValidationQuestion, read_profile
from bookwise.ingestion.discovery.profile_errors import complaints

CORRECT_FILE = "Correct the file and run the command again."
ADD_QUESTIONS = (
    f"Add [[questions]] with id, kind, text and lesson to {PROFILE_FILE} at the root of the book, "
    "or use --questions FILE."
)


def questions_from(file: Path) -> tuple[ValidationQuestion, ...]:
    """The questions in the file, at least one. Raises `NotFound` or `InvalidInput`."""
    return _require_questions(read_questions(file), str(file), advice="Add at least one question to the file.")


def questions_of(book: Book) -> tuple[ValidationQuestion, ...]:
    """The questions in the book's own profile, at least one. Raises `NotFound` or `InvalidInput`."""
    if "://" in book.source:
        raise NotFound(
            f"Book {book.id!r} comes from a site, which has no {PROFILE_FILE}.", advice="Use --questions FILE."
        )
    root = Path(book.source)
    if not book.source or not root.is_dir():
        raise NotFound(
            f"The folder of book {book.id!r} does not exist: {book.source or '(unknown)'}.",
            advice="Ingest the book again from its new folder, or use --questions FILE.",
        )
    return _require_questions(read_profile(root).questions, str(root / PROFILE_FILE), advice=ADD_QUESTIONS)


def read_questions(file: Path) -> tuple[ValidationQuestion, ...]:
    """The questions in a TOML file with [[questions]], a JSON list, or JSON lines. May be empty."""
    text = _text(file)
    match file.suffix.lower():
        case ".toml":
            return _validate(file, _toml(file, text))
        case ".json":
            return _validate(file, _json(file, text))
        case ".jsonl":
            return _validate(file, _json_lines(file, text))
    raise InvalidInput(f"{file} is not a question file.", advice="Use a .toml, .json or .jsonl file.")


def _require_questions(
    questions: tuple[ValidationQuestion, ...], where: str, *, advice: str
) -> tuple[ValidationQuestion, ...]:
    if not questions:
        raise NotFound(f"There are no questions in {where}.", advice=advice)
    for question in questions:
        for text in (question.text, *question.history):
            if not 0 < len(text.strip()) <= QUESTION_MAX:
                raise InvalidInput(
                    f"{where}: a text of question {question.id} has {len(text):,} characters.",
                    advice=f"Use between 1 and {QUESTION_MAX:,} characters.",
                )
    return questions


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise NotFound(
            f"{file} cannot be read: {error.strerror or error}.",
            advice="Name a file that exists and that you may read.",
        ) from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{file} is not UTF-8.", advice="Save it as UTF-8.") from error


def _toml(file: Path, text: str) -> Any:
    try:
        return tomllib.loads(text).get("questions", [])
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InvalidInput(f"{file} is not valid TOML: {error}.", advice=CORRECT_FILE) from error


def _json(file: Path, text: str) -> Any:
    try:
        items = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise InvalidInput(f"{file} is not valid JSON: {error}.", advice=CORRECT_FILE) from error
    if not isinstance(items, list):
        raise InvalidInput(f"{file} is not a JSON list.", advice="Put the questions into a list: [{…}, {…}].")
    return items


def _json_lines(file: Path, text: str) -> list[ValidationQuestion]:
    """Validates each line separately, so that an error can name its line."""
    questions = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            questions.append(ValidationQuestion.model_validate(json.loads(line)))
        except (json.JSONDecodeError, RecursionError) as error:
            raise InvalidInput(f"{file}, line {number} is not valid JSON: {error}.", advice=CORRECT_FILE) from error
        except ValidationError as error:
            message = f"{file}, line {number}: {complaints(error, ValidationQuestion)}"
            raise InvalidInput(message, advice=CORRECT_FILE) from error
    return questions


def _validate(file: Path, items: Sequence[Any]) -> tuple[ValidationQuestion, ...]:
    try:
        return BookProfile.model_validate({"questions": items}).questions
    except ValidationError as error:
        raise InvalidInput(f"{file}: {complaints(error, BookProfile)}", advice=CORRECT_FILE) from error
