"""`ask`: one question, answered from the book."""

from collections.abc import AsyncGenerator
from typing import Annotated

import anyio
import typer

from bookwise.cli.answer_view import followed, summary, write_notes, write_related, write_sources
from bookwise.cli.exit_codes import OK, exit_code
from bookwise.cli.output import ALL_TIERS, BookOption, JsonFlag, TierOption, print_json, settings_of
from bookwise.cli.writers import AnswerWriter, answer_writer
from bookwise.domain.answers import Answer, AnswerEvent, AnswerFinished, EngineName
from bookwise.domain.errors import DataFolderBusy, InvalidInput, Unavailable
from bookwise.domain.search import SEARCH_LIMIT_MAX
from bookwise.operations.ask import AskBook, open_asking, with_engine
from bookwise.operations.handover import hand_over
from bookwise.schemas.answers import AnswerSummary, summarize_answer
from bookwise.schemas.ask import AgentResponse
from bookwise.settings import Settings

EngineOption = Annotated[EngineName | None, typer.Option(help="Answer engine (default: the configured one).")]
ModuleOption = Annotated[str | None, typer.Option(help="Only this module, by name or alias.")]


def add_to(app: typer.Typer) -> None:
    app.command()(ask)


def ask(  # noqa: PLR0913 - one parameter per option
    ctx: typer.Context,
    question: Annotated[str, typer.Argument(help="What you want to know, in your own words.")],
    book: BookOption = None,
    module: ModuleOption = None,
    top_k: Annotated[
        int | None,
        typer.Option(min=1, max=SEARCH_LIMIT_MAX, help="Number of passages to answer from (default: AGENT_TOP_K, 5)."),
    ] = None,
    engine: EngineOption = None,
    tier: TierOption = ALL_TIERS,
    as_json: JsonFlag = False,
) -> None:
    """Ask the book one question. Shows the answer, its sources and the confidence.

    When the book has no answer, it says so (exit code 0).
    """
    settings = with_engine(settings_of(ctx), engine)
    requested = AskBook(
        text=question,
        book=book,
        module=module,
        top_k=top_k or settings.agent_top_k,
        tier=tier,
        threshold=settings.agent_score_threshold,
        engine=engine,
    )
    writer = None if as_json else answer_writer()
    try:
        answer = anyio.run(_answer, requested, settings, writer)
    except DataFolderBusy as busy:
        answer = hand_over(settings, busy, requested)
        if writer is not None:
            anyio.run(followed, _events_of(answer), writer)
    if writer is None:
        response = AgentResponse.of(answer, query=question, min_relevance=settings.min_relevance_score, module=module)
        print_json(response.model_dump(mode="json"))
    else:
        _write_rest(summarize_answer(answer), question, writer)
    raise typer.Exit(_exit_code(answer))


async def _answer(requested: AskBook, settings: Settings, writer: AnswerWriter | None) -> Answer:
    async with open_asking(settings) as kit:
        return await (requested.run(kit) if writer is None else followed(await requested.events(kit), writer))


async def _events_of(answer: Answer) -> AsyncGenerator[AnswerEvent]:
    yield AnswerFinished(answer=answer)


def _write_rest(result: AnswerSummary, question: str, writer: AnswerWriter) -> None:
    searched = result.evidence.question.strip() if result.evidence else ""
    if searched and searched != question.strip():
        writer.line(f"Read as: {searched}", style="dim")
    write_notes(result, writer)
    write_sources(result, writer)
    write_related(result, writer)
    writer.line(summary(result), style="dim")


def _exit_code(answer: Answer) -> int:
    """A refusal is an answer. A blocked question and an interrupted answer are errors."""
    match summarize_answer(answer).outcome:
        case "blocked":
            return exit_code(InvalidInput(answer.text))
        case "interrupted":
            return exit_code(Unavailable(answer.text))
        case _:
            return OK
