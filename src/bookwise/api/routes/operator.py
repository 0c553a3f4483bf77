"""POST /operator/{errand}: what a command on this machine wants while the service holds the data folder."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic import TypeAdapter, ValidationError

from bookwise.api import errands, reading
from bookwise.api.access import Operator
from bookwise.api.insights import ReadInsights
from bookwise.api.problems import problem_of
from bookwise.api.service import Service, service_of
from bookwise.domain.errors import BookwiseError, InvalidInput, NotFound
from bookwise.library import for_one_question

router = APIRouter(tags=["operator"])


def _app(service: Service) -> Any:
    return service.app


def _runner(service: Service) -> Any:
    return service.runner


#: Every errand there is, with what it is run on.
ERRANDS: Mapping[type[Any], Callable[[Service], Any]] = {
    reading.Search: lambda service: service.app.search_kit,
    errands.Ask: lambda service: for_one_question(service.kit, service.settings),
    reading.ReadLesson: _app,
    reading.ReadContext: _app,
    errands.ListBooks: _app,
    errands.ListLessons: _app,
    errands.ListJobs: _app,
    errands.ReadJob: _app,
    ReadInsights: _app,
    errands.CreateKey: _app,
    errands.ListKeys: _app,
    errands.RevokeKey: _app,
    errands.RotateKey: _app,
    errands.Ingest: _runner,
    errands.CancelJob: _runner,
}
BY_NAME = {kind.__name__: kind for kind in ERRANDS}


@router.post("/operator/{errand}", include_in_schema=False)
async def operator(errand: str, request: Request, caller: Operator) -> Response:
    """Carries an errand out. Its form is a matter between this version of the service and its own commands."""
    kind = BY_NAME.get(errand)
    if kind is None:
        raise NotFound(f"There is no errand {errand!r}.", advice="Use the commands of the service's own version.")
    try:
        wanted = TypeAdapter(kind).validate_json(await request.body())
    except ValidationError as error:
        raise InvalidInput(f"This is no errand {errand!r}.", advice="Use the commands of its own version.") from error
    service = service_of(request)
    try:
        found = await wanted.run(ERRANDS[kind](service))
    except BookwiseError as error:  # to the operator it is told as the command itself would tell it
        told = replace(problem_of(error), code=error.code, detail=error.message, advice=error.advice)
        return told.response(request.url.path)
    if kind is errands.CreateKey:
        service.open_to_anyone = False  # behind a proxy, loopback is not only this machine
    returned = TypeAdapter(kind.run.__annotations__["return"])
    return Response(returned.dump_json(found), media_type="application/json")
