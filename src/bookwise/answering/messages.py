"""The messages that Bookwise itself writes into answers."""

from collections.abc import Sequence

from bookwise.domain.answers import Passage

NOT_IN_THE_BOOK = "I couldn't find that information in the book."
BLOCKED = "I can only answer questions about the book. Please ask about something in it."
UNSUPPORTED_MARK = " *(not supported by the book)*"


def small_talk(title: str) -> str:
    """Returns the reply to a greeting or thanks."""
    return f"I answer questions about “{title}” and cite the passages I use. What would you like to know?"


def refusal(nearest: Sequence[Passage]) -> str:
    """Returns a refusal that names the closest lessons without claiming that they answer."""
    if not nearest:
        return NOT_IN_THE_BOOK
    lessons = "; ".join(f"{title(passage)} [{passage.number}]" for passage in nearest)
    return f"{NOT_IN_THE_BOOK} The closest sections are: {lessons}."


def doubtful(passage: Passage) -> str:
    """Returns the note above an answer that may not be one."""
    return f"The book may not answer this directly. The closest section is {title(passage)}."


def which_one(choices: Sequence[Passage]) -> str:
    """Returns a question back with the lessons to choose from."""
    options = "\n".join(f"- {title(passage)} [{passage.number}]" for passage in choices)
    return f"Several lessons match your question. Which one do you mean?\n\n{options}"


def title(passage: Passage) -> str:
    """Returns the title of the passage: lesson and section."""
    locator = passage.chunk.locator
    section = locator.section_title
    return f"{locator.page_title} › {section}" if section and section != locator.page_title else locator.page_title
