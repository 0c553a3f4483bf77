"""The messages of a thread → what it is about, in one line."""

from collections import Counter
from collections.abc import Sequence

from bookwise.domain.threads import SUMMARY_MAX, ThreadMessage
from bookwise.text.small_talk import is_small_talk
from bookwise.text.topics import phrases

_TOPICS = 5


def topic_summary(messages: Sequence[ThreadMessage]) -> str:
    """The things the reader asked about most, at most 200 characters."""
    asked = [m.content for m in messages if m.role == "user" and not is_small_talk(m.content)]
    counted: Counter[str] = Counter()
    spelt: dict[str, str] = {}
    for question in asked:
        for phrase in dict.fromkeys(phrases(question)):
            counted[phrase.lower()] += 1
            spelt.setdefault(phrase.lower(), phrase)
    topics: list[str] = []
    for key, _ in counted.most_common():
        if len(topics) < _TOPICS and len(_about([*topics, spelt[key]])) <= SUMMARY_MAX:
            topics.append(spelt[key])
    return _about(topics or ["the book"])


def _about(topics: Sequence[str]) -> str:
    return f"Discussion about {', '.join(topics)}"
