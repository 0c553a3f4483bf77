"""POST /operator/{operation}: runs an operation for a local command while the service holds the data folder."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic import TypeAdapter, ValidationError

from bookwise.api.auth.access import Operator
from bookwise.api.problems import problem_of
from bookwise.api.request_body import read_large_body
from bookwise.api.state import ServiceState, state_of
from bookwise.domain.errors import BookwiseError, InvalidInput, NotFound
from bookwise.operations import ask, backup, books, doctor, evaluate, insights, jobs, keys, read

PREFIX = "/operator/"
BODY_MAX = 16 * 1024 * 1024  #: a command may send many test questions

router = APIRouter(tags=["operator"])


def _app(state: ServiceState) -> Any:
    return state.app


def _records(state: ServiceState) -> Any:
    return state.app.records


def _runner(state: ServiceState) -> Any:
    return state.runner


#: Every operation with what it runs on.
OPERATIONS: Mapping[type[Any], Callable[[ServiceState], Any]] = {
    read.SearchBook: lambda state: state.app.search_kit,
    ask.AskBook: lambda state: ask.for_one_question(state.kit, state.settings),
    ask.RetrievePassages: lambda state: state.app.search_kit,
    read.ReadLesson: _app,
    read.ReadContext: _app,
    books.ListLessons: _app,
    books.RemoveBook: _app,
    jobs.ReadJob: _app,
    insights.ReadInsights: _records,
    insights.ExportQuestions: _records,
    keys.CreateKey: _records,
    keys.ListKeys: _records,
    keys.RevokeKey: _records,
    keys.RotateKey: _records,
    backup.BackUpData: _app,
    doctor.DiagnoseBooks: _app,
    evaluate.ValidateBook: _app,
    evaluate.CalibrateBook: _app,
    jobs.IngestBook: _runner,
    jobs.CancelJob: _runner,
}
KEY_CHANGES = (keys.CreateKey, keys.RevokeKey, keys.RotateKey)
BY_NAME = {kind.__name__: kind for kind in OPERATIONS}


@router.post(PREFIX + "{operation}", include_in_schema=False)
async def operator(operation: str, request: Request, caller: Operator) -> Response:
    """Runs the operation. Its JSON is private to this version of the service and its own commands."""
    kind = BY_NAME.get(operation)
    if kind is None:
        raise NotFound(
            f"There is no operation {operation!r}.", advice="Use the commands of the same version as the service."
        )
    try:
        requested = TypeAdapter(kind).validate_json(await read_large_body(request, BODY_MAX))
    except ValidationError as error:
        raise InvalidInput(
            f"The body is not a valid {operation!r} operation.",
            advice="Use the commands of the same version as the service.",
        ) from error
    state = state_of(request)
    try:
        result = await _execute(requested, state)
    except BookwiseError as error:  # the command shows the error as if it had run the operation itself
        problem = replace(problem_of(error), code=error.code, detail=error.message, advice=error.advice)
        return problem.response(request.url.path)
    if kind in KEY_CHANGES:
        await state.check_keys()
    returned = TypeAdapter(kind.run.__annotations__["return"])
    return Response(returned.dump_json(result), media_type="application/json")


async def _execute(requested: Any, state: ServiceState) -> Any:
    kit = OPERATIONS[type(requested)](state)
    if isinstance(requested, books.RemoveBook):
        async with state.runner.pause_opening(requested.book_id):
            return await requested.run(kit)
    return await requested.run(kit)
