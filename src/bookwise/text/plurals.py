"""A number and a noun → the words for messages."""


def plural(count: int, noun: str) -> str:
    """`1 lesson`, `2 lessons`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
