"""What Bookwise says in its own words."""

from collections.abc import Sequence

from bookwise.domain.answers import Passage

NOT_IN_THE_BOOK = "I couldn't find that information in the book."
BLOCKED = "I can only answer questions about the book. Ask me about something in it."
DISCLAIMER = "The book touches on this only loosely: check the cited passages before you rely on the answer."
UNSUPPORTED_MARK = " *(not supported by the book)*"


def small_talk(title: str) -> str:
    """An answer to a greeting or thanks."""
    return f"I answer questions about “{title}”, and show where the book says so. What would you like to know?"


def refusal(nearest: Sequence[Passage]) -> str:
    """The refusal, with the closest lessons but without a claim that they answer."""
    if not nearest:
        return NOT_IN_THE_BOOK
    closest = "; ".join(f"{title(passage)} [{passage.number}]" for passage in nearest)
    return f"{NOT_IN_THE_BOOK} The closest I have is: {closest}."


def which_one(choices: Sequence[Passage]) -> str:
    """A question back, where several places fit equally well."""
    listed = "\n".join(f"- {title(passage)} [{passage.number}]" for passage in choices)
    return f"That fits several places in the book. Which one do you mean?\n\n{listed}"


def title(passage: Passage) -> str:
    """A passage by lesson and section."""
    where = passage.chunk.locator
    section = where.section_title
    return f"{where.page_title} › {section}" if section and section != where.page_title else where.page_title
