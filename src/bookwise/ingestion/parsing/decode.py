"""Bytes of a lesson → text with plain line ends."""

import codecs

from bookwise.domain.errors import BadLesson

#: Longest mark first: the UTF-32 mark begins with the UTF-16 one.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (codecs.BOM_UTF8, "utf-8-sig"),
)


def decode(raw: bytes) -> str:
    """Text of the bytes: UTF-8, or what the byte-order mark says. Nothing is guessed: a wrong guess
    would store unreadable words silently."""
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
            f"The lesson holds a NUL character at position {text.index(chr(0))}.",
            advice="Save the file as UTF-8 text; binary files are not lessons.",
        )
    return text.replace("\r\n", "\n").replace("\r", "\n")
