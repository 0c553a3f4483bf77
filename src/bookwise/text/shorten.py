"""A text → its beginning, for a place with room for that only."""

import re


def shortened(text: str, limit: int) -> str:
    """The text if it fits, else its beginning, cut after a word, with an ellipsis."""
    if len(text) <= limit:
        return text
    whole_words = re.sub(r"\S+\Z", "", text[:limit]).rstrip()
    return f"{whole_words or text[: limit - 1]}…"
