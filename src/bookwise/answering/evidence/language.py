"""Question + book + passages → whether the question is in another language than the book."""

from collections.abc import Sequence

from bookwise.domain.answers import Passage
from bookwise.domain.books import Book
from bookwise.text.language import other_language


def is_in_other_language(question: str, book: Book, passages: Sequence[Passage]) -> bool:
    """Returns whether a question is certainly in another language than the book.

    The language of a book is `en` unless its profile says otherwise, so the text decides too: passages in the language
    of the question show that the book can be quoted to this reader.
    """
    language = other_language(question, book.language)
    if language is None:
        return False
    text = "\n\n".join(passage.chunk.text for passage in passages)
    return other_language(text, book.language) != language
