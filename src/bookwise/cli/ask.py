"""`ask`: one question, answered from the book."""

from collections.abc import AsyncGenerator
from typing import Annotated

import anyio
import typer

from bookwise.cli.answer_view import AnswerWriter, answer_writer, followed, summary, write_notes, write_sources
from bookwise.cli.exit_codes import OK, exit_code
from bookwise.cli.output import BookOption, JsonFlag, hand_over, print_json, settings_of
from bookwise.domain.answers import Answer, AnswerEvent, AnswerFinished, EngineName
from bookwise.domain.errors import DataFolderBusy, InvalidInput, Unavailable
from bookwise.domain.search import SEARCH_LIMIT_MAX
from bookwise.library import open_asking, settings_for
from bookwise.operations.ask import AskBook
from bookwise.schemas.answers import AnswerSummary, summarize_answer
from bookwise.settings import Settings

EngineOption = Annotated[EngineName | None, typer.Option(help="Who writes the answer (default: the configured one).")]
ModuleOption = Annotated[str | None, typer.Option(help="Only this module (name or alias).")]


def add_to(app: typer.Typer) -> None:
    app.command()(ask)


def ask(  # noqa: PLR0913 - one parameter per option
    ctx: typer.Context,
    question: Annotated[str, typer.Argument(help="What you want to know, in your own words.")],
    book: BookOption = None,
    module: ModuleOption = None,
    top_k: Annotated[
        int | None, typer.Option(min=1, max=SEARCH_LIMIT_MAX, help="Answer from this many passages (default: 5).")
    ] = None,
    engine: EngineOption = None,
    tier: Annotated[int, typer.Option(min=1, max=4, help="Lessons for this hardware tier or lower.")] = 4,
    as_json: JsonFlag = False,
) -> None:
    """Ask the book a question: the answer, where the book says so, and how sure that is."""
    settings = settings_for(settings_of(ctx), engine=engine)
    wanted = AskBook(
        text=question,
        book=book,
        module=module,
        top_k=top_k or settings.agent_top_k,
        tier=tier,
        threshold=settings.agent_score_threshold,
        engine=engine,
    )
    on = None if as_json else answer_writer()
    try:
        answer = anyio.run(_answer, wanted, settings, on)
    except DataFolderBusy as busy:
        answer = hand_over(settings, busy, wanted)
        if on is not None:
            anyio.run(followed, _whole(answer), on)
    if on is None:
        from bookwise.schemas.ask import AgentResponse

        response = AgentResponse.of(answer, query=question, min_relevance=settings.min_relevance_score)
        print_json(response.model_dump(mode="json"))
    else:
        _write_rest(summarize_answer(answer), question, on)
    raise typer.Exit(_exit_code(answer))


async def _answer(wanted: AskBook, settings: Settings, on: AnswerWriter | None) -> Answer:
    async with open_asking(settings) as kit:
        return await (wanted.run(kit) if on is None else followed(await wanted.events(kit), on))


async def _whole(answer: Answer) -> AsyncGenerator[AnswerEvent]:
    yield AnswerFinished(answer=answer)


def _write_rest(told: AnswerSummary, question: str, on: AnswerWriter) -> None:
    read_as = told.evidence.question.strip() if told.evidence else ""
    if read_as and read_as != question.strip():
        on.line(f"Read as: {read_as}", style="dim")
    write_notes(told, on)
    write_sources(told, on)
    on.line(summary(told), style="dim")


def _exit_code(answer: Answer) -> int:
    """A refusal is an answer; a message that was blocked and an answer that was cut off are none."""
    match summarize_answer(answer).outcome:
        case "blocked":
            return exit_code(InvalidInput(answer.text))
        case "interrupted":
            return exit_code(Unavailable(answer.text))
        case _:
            return OK
