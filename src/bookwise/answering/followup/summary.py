"""Messages of a thread → a one-line summary of its topics."""

from collections import Counter
from collections.abc import Sequence

from bookwise.domain.threads import SUMMARY_MAX, ThreadMessage
from bookwise.text.small_talk import is_small_talk
from bookwise.text.topics import phrases

_TOPICS_MAX = 5


def topic_summary(messages: Sequence[ThreadMessage]) -> str:
    """Returns the topics the user asked about most often, in at most 200 characters."""
    questions = [m.content for m in messages if m.role == "user" and not is_small_talk(m.content)]
    counts: Counter[str] = Counter()
    spellings: dict[str, str] = {}
    for question in questions:
        for phrase in dict.fromkeys(phrases(question)):
            counts[phrase.lower()] += 1
            spellings.setdefault(phrase.lower(), phrase)
    topics: list[str] = []
    for key, _ in counts.most_common():
        if len(topics) < _TOPICS_MAX and len(_summary([*topics, spellings[key]])) <= SUMMARY_MAX:
            topics.append(spellings[key])
    return _summary(topics or ["the book"])


def _summary(topics: Sequence[str]) -> str:
    return f"Discussion about {', '.join(topics)}"
