"""How long to wait before a failed request is sent again."""

import random

FIRST_WAIT = 0.5
MAX_WAIT = 8.0


def backoff(attempt: int, *, first: float = FIRST_WAIT) -> float:
    """Seconds before the next attempt: doubled each time, with jitter so that clients do not retry together."""
    upper: float = min(MAX_WAIT, first * 2 ** (attempt - 1))
    return upper * random.uniform(0.5, 1.0)
