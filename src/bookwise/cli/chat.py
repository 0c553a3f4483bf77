"""`chat`: question after question, from a terminal or a pipe, each answered from the book and what was said before."""

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
from bookwise.answering.messages import title
from bookwise.cli.answer_view import (
    AnswerWriter,
    answer_writer,
    followed,
    shown_passages,
    summary,
    whole_text,
    write_notes,
    write_sources_briefly,
)
from bookwise.cli.ask import EngineOption, ModuleOption
from bookwise.cli.chat_history import ChatHistory, InMemoryHistory, StoredHistory
from bookwise.cli.output import BookOption, printable, settings_of
from bookwise.domain.answers import Answer, Passage, Question
from bookwise.domain.errors import BookwiseError, InvalidInput
from bookwise.domain.threads import Thread
from bookwise.library import book_for, settings_for
from bookwise.ports import ThreadStore
from bookwise.retrieval import read
from bookwise.schemas.agent import TURNS_MAX
from bookwise.schemas.answers import summarize_answer
from bookwise.settings import Settings
from bookwise.wiring import open_answers, open_app, open_search

PROMPT = "> "
HISTORY_FILE = "chat-history"
HISTORY_LINES = 1000
COMMAND = re.compile(r"/(\w+)(?:\s+(\S+))?\s*")  #: a longer line that begins with a slash is a question

HELP = """\
Ask anything about the book; a follow-up may lean on what was said before. Commands:
  /sources     the passages behind the last answer, whole
  /lesson [n]  the whole lesson cited as [n]
  /new         begin anew, without what was said before
  /help        this text
  /quit        leave (so do Ctrl-D and Ctrl-C); Ctrl-C while an answer is written stops that answer"""


def add_to(app: typer.Typer) -> None:
    app.command()(chat)


def chat(  # noqa: PLR0913 - one parameter per option
    ctx: typer.Context,
    book: BookOption = None,
    module: ModuleOption = None,
    engine: EngineOption = None,
    max_turns: Annotated[int, typer.Option(min=1, help="Questions before the chat must begin anew.")] = TURNS_MAX,
    save: Annotated[bool, typer.Option("--save", help="Keep the thread, to resume it later.")] = False,
    resume: Annotated[
        str | None, typer.Option(metavar="ID", help="Go on with a kept thread; goes on keeping it.")
    ] = None,
) -> None:
    """Talk with the book. Nothing is kept unless you say so; piped input is one question per line."""
    gc.enable()  # off since the start of the program; a chat is long enough to need it
    settings = settings_for(settings_of(ctx), engine=engine)
    keeps = save or resume is not None
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(_opened(settings, keeps)) as (kit, threads),
    ):
        memory = StoredHistory(kit, threads) if threads else InMemoryHistory(kit)
        if isinstance(memory, StoredHistory) and resume is not None:
            book = _resumed(portal.call(memory.resume, resume), book)
        about = portal.call(book_for, kit.search.catalog, book, module)
        asked = partial(
            Question,
            book_id=about.id,
            module=module,
            top_k=settings.agent_top_k,
            threshold=settings.agent_score_threshold,
        )
        talk = ChatLoop(portal, kit, memory, asked, max_turns)
        if _is_interactive():
            _note(f"{about.title}: ask, or /help.")
        with _readline(settings.data_dir / HISTORY_FILE if keeps else None):
            talk.run(_lines())
        _say_goodbye(memory, ctx)


@asynccontextmanager
async def _opened(settings: Settings, keeps: bool) -> AsyncIterator[tuple[AskKit, ThreadStore | None]]:
    """What answers, and where threads are kept when they are."""
    if keeps:
        async with open_app(settings) as app, open_answers(settings, app.search_kit) as kit:
            yield kit, app.threads
    else:
        async with open_search(settings) as search, open_answers(settings, search) as kit:
            yield kit, None


class Ask(Protocol):
    """Turns a line into a question of this chat's book."""

    def __call__(self, *, text: str) -> Question: ...


class ChatLoop:
    """Lines in, answers out. The event loop runs in a thread of its own, so that Ctrl-C reaches the one that reads."""

    def __init__(self, portal: BlockingPortal, kit: AskKit, memory: ChatHistory, question: Ask, max_turns: int) -> None:
        self._portal, self._kit, self._memory, self._question = portal, kit, memory, question
        self._max_turns = max_turns
        self._turns = 0
        self._last: Answer | None = None
        self._paper: AnswerWriter = answer_writer()

    def run(self, lines: Iterator[str]) -> None:
        for line in lines:
            try:
                if not self._went_on(line.strip()):
                    return
            except KeyboardInterrupt:
                if not _is_interactive():
                    raise
                _note("\nStopped.")
            except BookwiseError as error:
                if not _is_interactive():
                    raise
                _note(f"{error.message} {error.advice}")

    def _went_on(self, line: str) -> bool:
        """Whether the chat goes on after this line."""
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
                self._begin_anew()
            case "sources":
                self._show_passages()
            case "lesson":
                self._read_lesson(argument)
            case _:
                _note(f"There is no command /{name}; /help lists them. A question needs more than one word after a /.")
        return True

    def _ask(self, text: str) -> None:
        if self._turns >= self._max_turns:
            _note(
                f"This chat has had its {self._max_turns} questions, so this one is not answered."
                " Begin anew with /new, or allow more with `bookwise chat --max-turns N`."
            )
            return
        question = self._question(text=text)
        self._turns += 1
        self._last = answer = self._answer(question)
        if answer is None:
            _note("Stopped.")
            return
        told, on = summarize_answer(answer), self._paper
        write_notes(told, on)
        write_sources_briefly(told, on)
        on.line(f"{summary(told)}\n", style="dim")

    def _answer(self, question: Question) -> Answer | None:
        """The answer, written while it came in; None when it was stopped."""
        scope = self._portal.call(CancelScope)

        async def write() -> Answer | None:
            with scope:
                return await followed(self._memory.answer(question), self._paper)
            return None

        writing = self._portal.start_task_soon(write)
        try:
            return writing.result()
        except KeyboardInterrupt:
            self._portal.call(scope.cancel)
            writing.result()  # what was said so far is still being remembered
            if not _is_interactive():
                raise
            return None

    def _begin_anew(self) -> None:
        if isinstance(self._memory, StoredHistory) and self._memory.thread_id is not None:
            _note(f"Saved as {self._memory.thread_id}.")
        self._memory.forget()
        self._turns, self._last = 0, None
        _note("A new thread: what was said before is left behind.")

    def _show_passages(self) -> None:
        passages = self._shown
        if not passages:
            _note("No answer has named a passage yet.")
        for passage in passages:
            where = passage.chunk.locator
            self._paper.line(f"[{passage.number}] {title(passage)}  similarity {passage.score:.2f}", style="bold")
            self._paper.line(where.url or where.source_file, style="cyan", link=where.url)
            self._paper.passage(passage.chunk.text)

    def _read_lesson(self, number: str | None) -> None:
        by_number = {str(passage.number): passage for passage in self._shown}
        passage = by_number.get(number or next(iter(by_number), ""))
        if passage is None:
            named = ", ".join(by_number) or "none yet"
            _note(f"Which lesson? The last answer named these: {named}. For example: /lesson 1")
            return
        chunk, search = passage.chunk, self._kit.search
        whole = partial(read.lesson, index=search.index, catalog=search.catalog)
        self._paper.passage(whole_text(self._portal.call(whole, chunk.locator.book_id, chunk.lesson_id)))

    @property
    def _shown(self) -> list[Passage]:
        return list(shown_passages(summarize_answer(self._last))) if self._last else []


def _is_interactive() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _lines() -> Iterator[str]:
    """What the reader types, or the lines of a pipe."""
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
    """Arrow keys at the prompt; what was typed is only kept in a file when there is one."""
    if not _is_interactive():
        yield
        return
    import readline  # takes over `input` by being imported

    if file is not None:
        with suppress(OSError):
            readline.read_history_file(file)
    yield
    if file is not None:
        readline.set_history_length(HISTORY_LINES)
        with suppress(OSError):
            readline.write_history_file(file)


def _resumed(thread: Thread, book: str | None) -> str:
    """The book of a thread, which no option can change."""
    if book not in (None, thread.book_id):
        raise InvalidInput(f"The thread is about book {thread.book_id!r}, not {book!r}.", advice="Leave out --book.")
    asked = [message.content for message in thread.messages if message.role == "user"]
    if asked and _is_interactive():
        _note(f"Your last question was: {asked[-1]}")
    return thread.book_id


def _say_goodbye(memory: ChatHistory, ctx: typer.Context) -> None:
    if isinstance(memory, StoredHistory) and memory.thread_id is not None:
        data_dir = (ctx.obj or {}).get("data_dir")
        where = f" --data-dir {data_dir}" if data_dir else ""
        _note(f"Saved. Go on with:\n  bookwise{where} chat --resume {memory.thread_id}")


def _note(text: str) -> None:
    """What is no answer goes to stderr, where a pipe does not see it."""
    sys.stderr.write(printable(text) + "\n")
