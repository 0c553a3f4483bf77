"""Bytes of a lesson → text with `\n` line ends."""

import codecs

from bookwise.domain.errors import BadLesson

#: Longest byte-order mark first: the one of UTF-32 starts with the one of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (codecs.BOM_UTF8, "utf-8-sig"),
)


def decode(raw: bytes) -> str:
    """The text: in UTF-8, or in the encoding of the byte-order mark. Raises `BadLesson`.

    The encoding is never guessed, because a wrong guess would silently store unreadable words.
    """
    encoding = next((name for mark, name in _MARKS if raw.startswith(mark)), "utf-8")
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError as error:
        raise BadLesson(
            "encoding",
            f"The lesson is not valid {encoding.removesuffix('-sig').upper()}: byte {error.start} cannot be decoded.",
            advice="Save the file as UTF-8.",
        ) from error
    if "\0" in text:
        raise BadLesson(
            "encoding",
            f"The lesson contains a NUL character at position {text.index(chr(0))}.",
            advice="Save the file as UTF-8 text; binary files are not lessons.",
        )
    return text.replace("\r\n", "\n").replace("\r", "\n")
