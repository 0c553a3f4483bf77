"""`chat`: questions from a terminal or a pipe, answered from the book with the conversation as context."""

import gc
import re
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Protocol

import typer
from anyio import CancelScope
from anyio.from_thread import BlockingPortal, start_blocking_portal

from bookwise.answering.ask import AskKit
from bookwise.answering.converse import renew_leases
from bookwise.answering.messages import title
from bookwise.cli.answer_view import (
    followed,
    shown_passages,
    summary,
    whole_text,
    write_notes,
    write_related_briefly,
    write_sources_briefly,
)
from bookwise.cli.ask import EngineOption, ModuleOption
from bookwise.cli.chat_history import ChatHistory, InMemoryHistory, StoredHistory
from bookwise.cli.output import BookOption, printable, settings_of
from bookwise.cli.writers import AnswerWriter, answer_writer
from bookwise.domain.answers import Answer, Passage, Question
from bookwise.domain.errors import BookwiseError, InvalidInput
from bookwise.domain.threads import Thread
from bookwise.operations.ask import with_engine
from bookwise.ports import ThreadStore
from bookwise.retrieval import read
from bookwise.retrieval.select_book import select_book
from bookwise.schemas.agent import TURNS_MAX
from bookwise.schemas.answers import summarize_answer
from bookwise.settings import Settings, is_set
from bookwise.wiring import open_answers, open_app, open_search

PROMPT = "> "
HISTORY_FILE = "chat-history"
HISTORY_LINES = 1000
COMMAND = re.compile(r"/(\w+)(?:\s+(\S+))?\s*")  #: a longer line that begins with a slash is a question

HELP = """\
Ask anything about the book. Follow-up questions may refer to earlier ones. Commands:
  /sources     show the full passages behind the last answer
  /lesson [n]  show the whole lesson cited as [n]
  /new         start a new conversation
  /help        show this text
  /quit        leave (also Ctrl-D and Ctrl-C); while an answer is written, Ctrl-C stops that answer"""


def add_to(app: typer.Typer) -> None:
    app.command()(chat)


def chat(  # noqa: PLR0913 - one parameter per option
    ctx: typer.Context,
    book: BookOption = None,
    module: ModuleOption = None,
    engine: EngineOption = None,
    max_turns: Annotated[
        int | None,
        typer.Option(
            min=1, help=f"Turns before a new conversation must start (default: AGENT_MAX_TURNS or {TURNS_MAX})."
        ),
    ] = None,
    save: Annotated[bool, typer.Option("--save", help="Save the thread, to resume it later.")] = False,
    resume: Annotated[str | None, typer.Option(metavar="ID", help="Resume a saved thread and keep saving it.")] = None,
) -> None:
    """Chat with the book. Nothing is stored without --save; piped input is one question per line."""
    gc.enable()  # off since the start of the program; a chat is long enough to need it
    settings = with_engine(settings_of(ctx), engine)
    limit = max_turns or (settings.agent_max_turns if is_set("agent_max_turns") else TURNS_MAX)
    is_stored = save or resume is not None
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(_open(settings, is_stored)) as (kit, threads),
        _renewed_leases(portal, threads),
    ):
        history = StoredHistory(kit, threads, max_turns=limit) if threads else InMemoryHistory(kit, max_turns=limit)
        if isinstance(history, StoredHistory) and resume is not None:
            book = _resume(portal.call(history.resume, resume), book)
        subject = portal.call(select_book, kit.search.catalog, book, module)
        question = partial(
            Question,
            book_id=subject.id,
            module=module,
            top_k=settings.agent_top_k,
            threshold=settings.agent_score_threshold,
        )
        loop = ChatLoop(portal, kit, history, question)
        if _is_interactive():
            _note(f"{subject.title}: ask a question, or type /help.")
        with _readline(settings.data_dir / HISTORY_FILE if is_stored else None):
            loop.run(_lines())
        _show_thread_id(history, ctx)


@contextmanager
def _renewed_leases(portal: BlockingPortal, threads: ThreadStore | None) -> Iterator[None]:
    """Keeps the thread reserved while an answer is written. A chat that is not saved has no thread."""
    task = portal.start_task_soon(renew_leases, threads) if threads else None
    try:
        yield
    finally:
        if task:
            task.cancel()


@asynccontextmanager
async def _open(settings: Settings, is_stored: bool) -> AsyncIterator[tuple[AskKit, ThreadStore | None]]:
    """The kit that answers, and the thread store when the chat is saved."""
    if is_stored:
        async with open_app(settings) as app, open_answers(settings, app.search_kit) as kit:
            yield kit, app.threads
    else:
        async with open_search(settings) as search, open_answers(settings, search) as kit:
            yield kit, None


class MakeQuestion(Protocol):
    """Turns a line into a question about this chat's book."""

    def __call__(self, *, text: str) -> Question: ...


class ChatLoop:
    """Lines in, answers out. The event loop runs in another thread, so that Ctrl-C reaches the one that reads."""

    def __init__(self, portal: BlockingPortal, kit: AskKit, history: ChatHistory, question: MakeQuestion) -> None:
        self._portal, self._kit, self._history, self._question = portal, kit, history, question
        self._last: Answer | None = None
        self._writer: AnswerWriter = answer_writer()

    def run(self, lines: Iterator[str]) -> None:
        for line in lines:
            try:
                if not self._run_line(line.strip()):
                    return
            except KeyboardInterrupt:
                if not _is_interactive():
                    raise
                _note("\nStopped.")
            except BookwiseError as error:
                if not _is_interactive():
                    raise
                _note(f"{error.message} {error.advice}")

    def _run_line(self, line: str) -> bool:
        """Answers a question or runs a command; False ends the chat."""
        command = COMMAND.fullmatch(line)
        if command is None:
            if line:
                self._ask(line)
            return True
        name, argument = command.groups()
        match name:
            case "quit" | "exit":
                return False
            case "help":
                _note(HELP)
            case "new":
                self._start_new()
            case "sources":
                self._show_passages()
            case "lesson":
                self._read_lesson(argument)
            case _:
                _note(f"Unknown command /{name}. Type /help for the list. A question after / needs several words.")
        return True

    def _ask(self, text: str) -> None:
        state = self._history.state
        if state.is_full:
            _note(
                f"Turn limit reached: {state.max_turns} turns. The question was not answered."
                " Start a new conversation with /new, or allow more turns with `bookwise chat --max-turns N`."
            )
            return
        self._last = answer = self._answer(self._question(text=text))
        if answer is None:
            _note("Stopped.")
            return
        result, writer = summarize_answer(answer), self._writer
        write_notes(result, writer)
        write_sources_briefly(result, writer)
        write_related_briefly(result, writer)
        writer.line(f"{summary(result)}\n", style="dim")

    def _answer(self, question: Question) -> Answer | None:
        """The answer, shown while it is written; None when it was stopped."""
        scope = self._portal.call(CancelScope)

        async def write() -> Answer | None:
            with scope:
                return await followed(self._history.answer(question), self._writer)
            return None

        writing = self._portal.start_task_soon(write)
        try:
            return writing.result()
        except KeyboardInterrupt:
            self._portal.call(scope.cancel)
            writing.result()  # waits until the text so far is kept
            if not _is_interactive():
                raise
            return None

    def _start_new(self) -> None:
        if isinstance(self._history, StoredHistory) and self._history.thread_id is not None:
            _note(f"Saved as {self._history.thread_id}.")
        self._history.forget()
        self._last = None
        _note("Started a new thread. Earlier messages are no longer used.")

    def _show_passages(self) -> None:
        passages = self._passages
        if not passages:
            _note("No answer has cited a passage yet.")
        for passage in passages:
            where = passage.chunk.locator
            self._writer.line(f"[{passage.number}] {title(passage)}  similarity {passage.score:.2f}", style="bold")
            self._writer.line(where.address, style="cyan", link=where.url)
            self._writer.passage(passage.chunk.text)

    def _read_lesson(self, number: str | None) -> None:
        by_number = {str(passage.number): passage for passage in self._passages}
        passage = by_number.get(number or next(iter(by_number), ""))
        if passage is None:
            numbers = ", ".join(by_number) or "none yet"
            _note(f"Which lesson? The last answer cites: {numbers}. Example: /lesson 1")
            return
        chunk, search = passage.chunk, self._kit.search
        read_lesson = partial(read.lesson, index=search.index, catalog=search.catalog)
        self._writer.passage(whole_text(self._portal.call(read_lesson, chunk.locator.book_id, chunk.lesson_id)))

    @property
    def _passages(self) -> list[Passage]:
        return list(shown_passages(summarize_answer(self._last))) if self._last else []


def _is_interactive() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _lines() -> Iterator[str]:
    """The lines typed at the prompt, or the lines of a pipe."""
    sys.stdin.reconfigure(errors="replace")  # type: ignore[union-attr]
    if not _is_interactive():
        yield from sys.stdin
        return
    while True:
        try:
            line = input(PROMPT)
        except (EOFError, KeyboardInterrupt):
            sys.stdout.write("\n")
            return
        yield line


@contextmanager
def _readline(file: Path | None) -> Iterator[None]:
    """Arrow keys at the prompt. Typed lines are saved only when a file is given."""
    if not _is_interactive():
        yield
        return
    import readline  # changes `input` when it is imported

    if file is not None:
        with suppress(OSError):
            readline.read_history_file(file)
    yield
    if file is not None:
        readline.set_history_length(HISTORY_LINES)
        with suppress(OSError):
            readline.write_history_file(file)


def _resume(thread: Thread, book: str | None) -> str:
    """The book of the thread; `InvalidInput` when `--book` names another one."""
    if book not in (None, thread.book_id):
        raise InvalidInput(f"The thread is about book {thread.book_id!r}, not {book!r}.", advice="Leave out --book.")
    questions = [message.content for message in thread.messages if message.role == "user"]
    if questions and _is_interactive():
        _note(f"Your last question was: {questions[-1]}")
    return thread.book_id


def _show_thread_id(history: ChatHistory, ctx: typer.Context) -> None:
    if isinstance(history, StoredHistory) and history.thread_id is not None:
        data_dir = (ctx.obj or {}).get("data_dir")
        option = f" --data-dir {data_dir}" if data_dir else ""
        _note(f"Saved. Resume with:\n  bookwise{option} chat --resume {history.thread_id}")


def _note(text: str) -> None:
    """Writes to stderr: only answers go to stdout."""
    sys.stderr.write(printable(text) + "\n")
