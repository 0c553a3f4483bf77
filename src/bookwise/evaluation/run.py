"""Questions → verdicts: asks each question as a reader would, and reads the live book to judge the answers."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from bookwise.answering.ask import AskKit, ask, final
from bookwise.domain.answers import Answer, EngineName, Question
from bookwise.domain.books import Book, Chunk
from bookwise.domain.threads import Role, ThreadMessage
from bookwise.evaluation.metrics import Evaluation, LiveBook, judge
from bookwise.ingestion.discovery.profile import ValidationQuestion
from bookwise.ports import Catalog, LessonIndex
from bookwise.retrieval import read

OnAnswer = Callable[[ValidationQuestion], None]


async def evaluate(
    questions: Sequence[ValidationQuestion],
    book: Book,
    kit: AskKit,
    *,
    live: LiveBook,
    engine: EngineName | None = None,
    on_answer: OnAnswer = lambda question: None,
) -> Evaluation:
    """Asks and judges every question, in order."""
    verdicts = []
    for question in questions:
        answer = await _answer(question, book.id, kit, engine)
        verdicts.append(judge(question, answer, live))
        on_answer(question)
    return Evaluation(book_id=book.id, title=book.title, engine=engine or kit.engine, verdicts=tuple(verdicts))


async def live_book(book_id: str, *, index: LessonIndex, catalog: Catalog) -> LiveBook:
    """All live chunks of the book."""
    chunks: list[Chunk] = []
    for record in await catalog.records(book_id):
        chunks.extend(await read.lesson(book_id, record.lesson_id, index=index, catalog=catalog))
    return LiveBook(chunks={chunk.id: chunk for chunk in chunks})


async def _answer(question: ValidationQuestion, book_id: str, kit: AskKit, engine: EngineName | None) -> Answer:
    """The answer to the last question, after the earlier questions of the thread were asked and answered."""
    history: list[ThreadMessage] = []
    for earlier in question.history:
        answer = await _ask(earlier, book_id, kit, engine, history)
        history += [_message("user", earlier), _message("assistant", answer.text)]
    return await _ask(question.text, book_id, kit, engine, history)


async def _ask(
    text: str, book_id: str, kit: AskKit, engine: EngineName | None, history: Sequence[ThreadMessage]
) -> Answer:
    return await final(ask(Question(text=text, book_id=book_id, engine=engine), kit, history=history))


def _message(role: Role, content: str) -> ThreadMessage:
    return ThreadMessage(role=role, content=content, timestamp=datetime.now(UTC))
