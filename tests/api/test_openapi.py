"""/openapi.json: complete for every route, true in its examples, and the same as the file that readers get."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from docs.reference import FOLDER, PAGES
from fastapi import FastAPI
from jsonschema import Draft202012Validator
from pydantic import BaseModel

from bookwise.api.app import create_app
from bookwise.api.openapi import TAGS
from bookwise.api.problems import MEDIA_TYPE, TYPES
from bookwise.settings import Settings

HEALTH = {"/health", "/health/live", "/health/ready"}
PAGES_AND_SCRIPTS = {"/", "/widget.js", "/author", "/author/assets/{name}"}
WITHOUT_KEY = {"/ingestion/webhook/github"} | PAGES_AND_SCRIPTS | HEALTH  #: deliveries of the webhook are signed
ANY_REQUEST = {"400", "403", "408", "413", "415", "500"}
ANY_KEY = {"401", "429"}
EXEMPLARY = ("application/json", "text/event-stream", "text/plain")


def service() -> FastAPI:
    return create_app(Settings())


DOCUMENT: dict[str, Any] = service().openapi()


@dataclass(frozen=True)
class Operation:
    method: str
    path: str
    description: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.method.upper()} {self.path}"

    @property
    def parameters(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.description.get("parameters", [])
        return found

    @property
    def has_input(self) -> bool:
        return bool(self.parameters or "requestBody" in self.description)

    @property
    def problems(self) -> set[str]:
        return {status for status, answer in self.description["responses"].items() if "$ref" in answer}

    @property
    def successes(self) -> Iterator[tuple[str, dict[str, Any]]]:
        for answer in self.description["responses"].values():
            yield from answer.get("content", {}).items()


OPERATIONS = [
    Operation(method, path, description)
    for path, item in DOCUMENT["paths"].items()
    for method, description in item.items()
]
every = pytest.mark.parametrize("operation", OPERATIONS, ids=str)


@every
def test_every_operation_says_what_it_does_and_for_whom(operation: Operation) -> None:
    description = operation.description
    generated = operation.description["operationId"].replace("_", " ")
    assert " " in description["summary"]
    assert not generated.startswith(f"{description['summary'].lower()} "), (
        "a summary is more than the name of a function"
    )
    assert not description["summary"].endswith(".")
    assert description["description"].endswith(".")
    assert set(description["tags"]) <= TAGS.keys()
    assert len(description["tags"]) == 1
    assert description.get("security", []) == ([] if operation.path in WITHOUT_KEY else [{"key": []}])


@every
def test_every_parameter_is_described(operation: Operation) -> None:
    for parameter in operation.parameters:
        assert parameter["description"], parameter["name"]
        assert parameter["schema"], parameter["name"]


@every
def test_every_operation_names_the_problems_it_can_have_and_no_others(operation: Operation) -> None:
    is_keyed = operation.path not in WITHOUT_KEY
    assert operation.problems >= ANY_REQUEST | (ANY_KEY if is_keyed else set())
    assert ("422" in operation.problems) == operation.has_input, "exactly where there is something to validate"
    if not operation.has_input:
        assert not operation.problems & {"404", "409"}, "who names nothing can miss nothing"
    if operation.method == "get":
        assert "409" not in operation.problems, "a reader is in nobody's way"
    if not is_keyed:
        assert "429" not in operation.problems, "nobody is counted"


@every
def test_every_body_and_every_answer_has_an_example_that_fits_its_schema(operation: Operation) -> None:
    shown = list(operation.successes)
    if body := operation.description.get("requestBody"):
        shown.append(("application/json", body["content"]["application/json"]))
    for media_type, content in shown:
        found = examples_in(content)
        assert found or media_type not in EXEMPLARY, media_type
        for example in found if media_type == "application/json" else ():
            fits(example, content["schema"])


def examples_in(content: dict[str, Any]) -> list[Any]:
    """Those of the content itself, and those of the model it refers to."""
    named = [example["value"] for example in content.get("examples", {}).values()]
    model = content.get("schema", {}).get("$ref", "").rpartition("/")[2]
    of_model = DOCUMENT["components"]["schemas"][model].get("examples", []) if model else []
    return [*named, *([content["example"]] if "example" in content else []), *of_model]


def fits(example: Any, schema: dict[str, Any]) -> None:
    """The schema's references are to the whole document."""
    Draft202012Validator({**schema, "components": DOCUMENT["components"]}).validate(example)


def test_every_problem_of_the_closed_list_is_shown_with_its_headers() -> None:
    shown: set[str] = set()
    for status, answer in DOCUMENT["components"]["responses"].items():
        content = answer["content"][MEDIA_TYPE]
        assert content["schema"] == {"$ref": "#/components/schemas/Problem"}
        assert "X-Request-ID" in answer["headers"], status
        for example in examples_in(content):
            fits(example, content["schema"])
            shown.add(example["code"])
    assert shown >= TYPES.keys() - {"insufficient-storage"}, "nothing is stored by a request that could fill a disk"
    assert "Retry-After" in DOCUMENT["components"]["responses"]["Problem429"]["headers"]
    assert "WWW-Authenticate" in DOCUMENT["components"]["responses"]["Problem401"]["headers"]


def models(kind: type[BaseModel] = BaseModel) -> Iterator[type[BaseModel]]:
    for child in kind.__subclasses__():
        if child.__module__.startswith("bookwise.") and child.__name__ in DOCUMENT["components"]["schemas"]:
            yield child
        yield from models(child)


def own_examples(model: type[BaseModel]) -> list[Any]:
    extra = model.model_config.get("json_schema_extra")
    found: Any = extra["examples"] if isinstance(extra, dict) else []
    return list(found)


@pytest.mark.parametrize("model", sorted(set(models()), key=str), ids=lambda model: model.__name__)
def test_an_example_keeps_the_rules_of_its_model(model: type[BaseModel]) -> None:
    for example in own_examples(model):
        model.model_validate(example)


@pytest.mark.parametrize("path", ["/chat/run", "/chat/stream", "/ingestion/trigger"])
def test_a_request_that_may_be_sent_twice_says_so(path: str) -> None:
    description = DOCUMENT["paths"][path]["post"]
    (parameter,) = (parameter for parameter in description["parameters"] if parameter["name"] == "Idempotency-Key")
    assert (parameter["in"], parameter["required"]) == ("header", False)
    assert "Idempotent-Replayed" in description["responses"]["202" if path.endswith("trigger") else "200"]["headers"]
    assert {"409", "422"} <= description["responses"].keys()


def test_no_other_operation_takes_an_idempotency_key() -> None:
    taking = {operation.path for operation in OPERATIONS if "Idempotency-Key" in str(operation.parameters)}
    assert taking == {"/chat/run", "/chat/stream", "/ingestion/trigger"}


def test_the_document_is_the_one_that_readers_get() -> None:
    """`make docs` writes it anew; look at the difference, it is what clients will see."""
    written = (FOLDER / "openapi.json").read_text(encoding="utf-8")
    assert json.loads(written) == DOCUMENT, "docs/reference/openapi.json differs from the code; run `make docs`"
    assert written == PAGES["openapi.json"]()
