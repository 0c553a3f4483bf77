"""Laws of follow-ups: any text may come, nothing is added without a thread, and the outcome is bounded and certain."""

from hypothesis import given
from hypothesis import strategies as st

from bookwise.answering.followup.resolve import RESOLVED_MAX, resolve
from bookwise.domain.threads import ThreadMessage
from bookwise.text.small_talk import is_small_talk
from tests.support.builders import NOON

PIECES = (
    "it|they|this|that|one|the first|second|a|and|in Python|what about|how do I install|ROS 2|node?|why?|is|Gazebo,"
)
MARKS = "(more)|better|yes|thanks|hello|“quoted”|- |1. |```|[1]|C++|don't|former|if|so|?"
WORDS = st.sampled_from([*PIECES.split("|"), *MARKS.split("|"), "\n"])
TALK = st.lists(WORDS, max_size=30).map(" ".join)
TEXTS = st.one_of(st.text(max_size=500), TALK)
MESSAGES = st.builds(
    ThreadMessage,
    role=st.sampled_from(["user", "assistant"]),
    content=TEXTS,
    timestamp=st.just(NOON),
    complete=st.booleans(),
)
THREADS = st.lists(MESSAGES, max_size=16)


@given(TEXTS)
def test_without_a_thread_every_question_is_unchanged(question: str) -> None:
    resolved = resolve(question, [])
    assert (resolved.text, resolved.is_followup) == (question, False)


@given(TEXTS, THREADS)
def test_a_question_is_unchanged_or_becomes_a_bounded_follow_up(question: str, history: list[ThreadMessage]) -> None:
    resolved = resolve(question, history)
    assert resolved.is_followup == (resolved.text != question)
    assert not resolved.is_followup or len(resolved.text) <= RESOLVED_MAX


@given(TEXTS, THREADS)
def test_the_same_thread_always_resolves_the_same(question: str, history: list[ThreadMessage]) -> None:
    assert resolve(question, history) == resolve(question, tuple(history))


@given(TEXTS, THREADS)
def test_courtesy_is_never_searched_for_with_a_topic(question: str, history: list[ThreadMessage]) -> None:
    assert not (is_small_talk(question) and resolve(question, history).is_followup)
