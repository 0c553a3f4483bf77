"""The messages that Bookwise itself writes into answers."""

from collections.abc import Sequence

from bookwise.domain.answers import Passage
from bookwise.text.language import language_name

NOT_IN_THE_BOOK = "I couldn't find that information in the book."
BLOCKED = "I can only answer questions about the book. Please ask about something in it."
UNSUPPORTED_MARK = " *(not supported by the book)*"


def small_talk(title: str) -> str:
    """Returns the reply to a greeting or thanks."""
    return f"I answer questions about “{title}” and cite the passages I use. What would you like to know?"


def refusal(nearest: Sequence[Passage]) -> str:
    """Returns a refusal that says what the book covers instead, without claiming that it answers."""
    covered = (f"The book covers {_coverage(passage)} [{passage.number}]." for passage in nearest)
    return " ".join([NOT_IN_THE_BOOK, *covered])


def other_language(book_language: str) -> str:
    """Returns the refusal of a question in another language than the book's."""
    return f"I can only answer in {language_name(book_language)}."


def _coverage(passage: Passage) -> str:
    locator = passage.chunk.locator
    section, lesson = locator.section_title, locator.page_title
    return f"“{section}” in “{lesson}”" if section and section != lesson else f"“{lesson}”"


def doubtful(passage: Passage) -> str:
    """Returns the note above an answer that may not be one."""
    return f"The book may not answer this directly. The closest section is {title(passage)}."


def which_one(choices: Sequence[Passage]) -> str:
    """Returns a question back with the lessons to choose from."""
    options = "\n".join(f"- {title(passage)} [{passage.number}]" for passage in choices)
    return f"Several lessons match your question. Which one do you mean?\n\n{options}"


def title(passage: Passage) -> str:
    """Returns the title of the passage: lesson, section, and the page of a PDF."""
    locator = passage.chunk.locator
    section = locator.section_title
    path = f"{locator.page_title} › {section}" if section and section != locator.page_title else locator.page_title
    return path if locator.page is None else f"{path}, page {locator.page}"
