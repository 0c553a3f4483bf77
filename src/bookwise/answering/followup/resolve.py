"""A question and its thread → the question as it can be searched for on its own."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from bookwise.answering.followup.references import ellipsis, is_followup, is_fragment, ordinal
from bookwise.domain.threads import ThreadMessage
from bookwise.text.small_talk import is_small_talk
from bookwise.text.topics import THE_BOOK, items, names, phrases
from bookwise.text.words import words

RESOLVED_MAX = 400
_QUESTION_MAX = 300  # what is longer says enough by itself
_QUESTION_READ = 1000
_MESSAGES_READ = 12
_PHRASES_CARRIED = 3

_REFUSAL = re.compile(
    r"\b(?:(?:do|does|did|can|could|is|are|am|was)(?:\s+not|n['’]?t)|cannot|unable\s+to|no)\b[^.!?]{0,60}"
    r"\b(?:know|find|found|answers?|contain|covers?|inform\w*|mention|specif\w*|provide|address|say|passages?|in\s+th\w+\s+book)\b"
    r"|^\s*(?:i['’]?m\s+|i\s+am\s+)?sorry\b|\bapologi[sz]e\b",
    re.IGNORECASE,
)
_CHOICES = re.compile(r"\?[*_]*\s*\n\s*(?:[-*•]|\d+[.)])[ \t]")
_OPENING_READ = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """A question as it is searched for."""

    text: str
    is_followup: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Exchange:
    """A question in its stand-alone form, with what was answered."""

    asked: str
    answer: str = ""
    complete: bool = True


def resolve(question: str, history: Sequence[ThreadMessage]) -> Resolved:
    """The question with what it leaves to the thread put into words; one that stands alone is unchanged."""
    text = _standalone(question, history[-_MESSAGES_READ:])
    return Resolved(text=text, is_followup=text != question)


def _standalone(question: str, history: Sequence[ThreadMessage]) -> str:
    """A question that leaves something to the thread, completed; any other as it is."""
    if not history or len(question) > _QUESTION_MAX or is_small_talk(question):
        return question
    plain = " ".join(question.split())
    replies = _asks_back(history[-1]) and is_fragment(plain)
    if not plain or not (replies or is_followup(plain)):
        return question
    last = _last_exchange(history)
    if last is None:
        return question
    if replies:
        return _within(f"{last.asked} ({_chosen(plain, last) or plain.strip(' ?.!')})") or question
    return _completed(plain, last.asked) or _annotated(plain, _carried(plain, last)) or question


def _asks_back(message: ThreadMessage) -> bool:
    """Whether the answer was a question with choices."""
    return message.role == "assistant" and _CHOICES.search(message.content, 0, _OPENING_READ) is not None


def _last_exchange(history: Sequence[ThreadMessage]) -> _Exchange | None:
    """The newest that was about something. Its question is read with the thread before it, so that a topic lives
    as long as it is talked about."""
    answer, complete = "", True
    for at in range(len(history) - 1, -1, -1):
        message = history[at]
        if message.role == "assistant":
            answer, complete = message.content, message.complete
        elif not is_small_talk(message.content):
            asked = _standalone(message.content[:_QUESTION_READ], history[:at])
            return _Exchange(asked=asked, answer="" if _refuses(answer) else answer, complete=complete)
    return None


def _refuses(answer: str) -> bool:
    return _REFUSAL.search(answer, 0, _OPENING_READ) is not None


def _annotated(question: str, carried: Sequence[str]) -> str | None:
    """The question with the topic in brackets after it: readable, and never a wrong sentence."""
    room = RESOLVED_MAX - len(question) - len(" ()")
    kept: list[str] = []
    for phrase in carried:
        room -= len(phrase) + len(", ")
        if room >= 0:
            kept.append(phrase)
    return f"{question} ({', '.join(kept)})" if kept else None


def _carried(question: str, last: _Exchange) -> list[str]:
    """What the reader asked about comes first, then the name the answer says most often."""
    chosen = _chosen(question, last)
    if chosen:
        return [chosen]
    about = [phrase for phrase in phrases(last.asked) if phrase.lower() not in THE_BOOK]
    topic = _unsaid(about, question)[:_PHRASES_CARRIED]
    enough = 1 if last.complete else 2
    said = [name for name, count in names(last.answer).most_common() if count >= enough]
    return topic + _unsaid(said, " ".join([question, *topic]))[:1]


def _unsaid(found: Sequence[str], text: str) -> list[str]:
    """The phrases with a word that neither the text nor an earlier phrase has."""
    said = set(words(text))
    unsaid = []
    for phrase in found:
        if not said.issuperset(words(phrase)):
            unsaid.append(phrase)
            said.update(words(phrase))
    return unsaid


def _chosen(question: str, last: _Exchange) -> str | None:
    """What `the second one` is: a point of the answer's list, or a thing the question before named."""
    place = ordinal(question)
    if place is None:
        return None
    choices = next((found for found in (items(last.answer), phrases(last.asked)) if len(found) > max(place, 1)), None)
    return choices[place] if choices else None


def _completed(question: str, asked: str) -> str | None:
    """The question before with the new thing in its place; None for what is no ellipsis, or grows too long."""
    found = ellipsis(question)
    if found is None:
        return None
    preposition, thing = found
    known = phrases(asked)
    if preposition:
        return _within(_placed(asked, preposition, thing, known))
    if len(known) == 1:
        return _within(_replaced(asked, known[0], thing))
    return _within(f"{question} ({asked.rstrip(' ?.!')})")


def _placed(asked: str, preposition: str, thing: str, known: Sequence[str]) -> str:
    """`in Python` instead of `in C++`, or at the end of the question."""
    for phrase in known:
        spot = re.search(rf"\b{preposition}\s+(?:(?:an?|the)\s+)?{re.escape(phrase)}", asked, re.IGNORECASE)
        if spot:
            return f"{asked[: spot.start()]}{preposition} {thing}{asked[spot.end() :]}"
    end = re.search(r"[\s?.!]*(?:\(|$)", asked)
    at = end.start() if end else len(asked)
    return f"{asked[:at]} {preposition} {thing}{asked[at:]}"


def _replaced(asked: str, phrase: str, thing: str) -> str:
    """`What is a node?` for `services`: `What are services?`"""
    before, _, after = asked.partition(phrase)
    before = re.sub(r"\b(?:an?|the)\s+$", "", before, flags=re.IGNORECASE)
    if re.fullmatch(r"[a-z]+[a-rt-z]s", thing):
        before = re.sub(r"\bis\s+$", "are ", before)
    return f"{before}{thing}{after}"


def _within(text: str) -> str | None:
    return text if len(text) <= RESOLVED_MAX else None
