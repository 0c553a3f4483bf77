"""Question + thread → the question in a form that can be searched for without the thread."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from bookwise.answering.followup.references import (
    correction,
    ellipsis,
    is_followup,
    is_fragment,
    may_continue,
    ordinal,
)
from bookwise.answering.relevance.question_type import classify_question
from bookwise.domain.threads import ThreadMessage
from bookwise.text.refusals import refuses
from bookwise.text.sentences import sentences
from bookwise.text.small_talk import is_small_talk
from bookwise.text.topics import THE_BOOK, items, names, phrases
from bookwise.text.words import words

# Limits chosen with `benchmarks.followups` (docs/benchmarks.md, Follow-ups). Sizes are in characters.
RESOLVED_MAX = 400
_FOLLOWUP_MAX = 300  #: a longer question is complete on its own
_QUESTION_READ = 1000  #: of an earlier question
_OPENING_READ = 200  #: of an answer, to see whether it refuses or asks back
_ANSWER_READ = 1500  #: of an answer, to see which words of the question it takes up
_MESSAGES_READ = 12
_TOPIC_PHRASES = 3  #: taken from the previous question

_NUMBERED_OPTION = re.compile(r"^- (.+) \[\d+\]$", re.MULTILINE)  #: as `messages.which_one` writes them
_CHOICES = re.compile(r"\?[*_]*\s*\n\s*(?:[-*•]|\d+[.)])[ \t]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """A question as it is searched for."""

    text: str
    is_followup: bool
    choice: str | None = None  #: the option of a question back that the reader chose


@dataclass(frozen=True, slots=True, kw_only=True)
class _Exchange:
    """A question in its stand-alone form with its answer."""

    question: str
    answer: str = ""  #: empty if it was a refusal
    complete: bool = True


def resolve(question: str, history: Sequence[ThreadMessage]) -> Resolved:
    """Returns the question completed with what it leaves to the thread; a stand-alone question is unchanged."""
    recent = history[-_MESSAGES_READ:]
    text = _standalone(question, recent)
    return Resolved(text=text, is_followup=text != question, choice=_choice(question, recent))


def _standalone(question: str, history: Sequence[ThreadMessage], *, carry_topic: bool = True) -> str:
    if not history or len(question) > _FOLLOWUP_MAX or is_small_talk(question):
        return question
    plain = " ".join(question.split())
    choice = _choice(plain, history)
    is_choice = choice is not None or (_asks_back(history[-1]) and is_fragment(plain))
    refers = is_choice or is_followup(plain)
    if not plain or not (refers or (carry_topic and may_continue(plain))):
        return question
    last = _last_exchange(history)
    if last is None:
        return question
    if is_choice:
        return _limited(f"{last.question} ({choice or plain.strip(' ?.!')})") or question
    if refers and (complete := _corrected(plain, last.question) or _completed(plain, last.question)):
        return complete
    return _annotated(plain, _topic(plain, last, with_name=refers)) or question


def _asks_back(message: ThreadMessage) -> bool:
    """Returns whether an answer was a question with options."""
    return message.role == "assistant" and _CHOICES.search(message.content, 0, _OPENING_READ) is not None


def _choice(question: str, history: Sequence[ThreadMessage]) -> str | None:
    """Returns the option of the last answer that a reply names: by its title, a part of it, its number or its position;
    None if the last answer was no question with options, or if the reply is something else."""
    if not history or not _asks_back(history[-1]):
        return None
    answer = history[-1].content
    options = _NUMBERED_OPTION.findall(answer) or items(answer)
    named = [option for option in options if question.strip(" ?.!").casefold() == option.casefold()]
    if not named and is_fragment(question):
        position = ordinal(question)
        if position is not None:
            return options[position] if position < len(options) else None
        reply = set(words(question))
        named = [option for option in options if reply.issubset(words(option))]
    return named[0] if len(named) == 1 else None


def _last_exchange(history: Sequence[ThreadMessage]) -> _Exchange | None:
    """Returns the newest exchange that is not small talk. Its question is resolved with the thread before it, so a
    topic lasts for as long as follow-ups refer to it."""
    answer, complete = "", True
    for index in range(len(history) - 1, -1, -1):
        message = history[index]
        if message.role == "assistant":
            answer, complete = message.content, message.complete
        elif not is_small_talk(message.content):
            question = _standalone(message.content[:_QUESTION_READ], history[:index], carry_topic=False)
            return _Exchange(question=question, answer="" if _opens_with_refusal(answer) else answer, complete=complete)
    return None


def _opens_with_refusal(answer: str) -> bool:
    return any(map(refuses, sentences(answer[:_OPENING_READ])))


def _annotated(question: str, topic: Sequence[str]) -> str | None:
    """Returns the question with the topic in brackets after it; None if nothing of the topic fits."""
    room = RESOLVED_MAX - len(question) - len(" ()")
    phrases_that_fit: list[str] = []
    for phrase in topic:
        room -= len(phrase) + len(", ")
        if room >= 0:
            phrases_that_fit.append(phrase)
    return f"{question} ({', '.join(phrases_that_fit)})" if phrases_that_fit else None


def _topic(question: str, last: _Exchange, *, with_name: bool) -> list[str]:
    """Returns what the previous question was about and its answer spoke of, then the name the answer mentions most. A
    question such as `What is a node?` names its thing itself, and the names in its answer are other things."""
    option = _option(question, last)
    if option:
        return [option]
    subjects = [phrase for phrase in phrases(last.question) if phrase.lower() not in THE_BOOK]
    topic = _answered_phrases(_new_phrases(subjects, question), last.answer)[:_TOPIC_PHRASES]
    if not with_name or (len(topic) == 1 and classify_question(last.question).kind == "definition"):
        return topic
    if _CHOICES.search(last.answer, 0, _OPENING_READ):
        return topic  # the names in a question back are only options
    least = 1 if last.complete else 2
    common_names = [name for name, count in names(last.answer).most_common() if count >= least]
    return topic + _new_phrases(common_names, " ".join([question, *topic]))[:1]


def _answered_phrases(subjects: list[str], answer: str) -> list[str]:
    """Returns the phrases that the answer takes up; all of them if it takes up none. An answer repeats the thing that
    was asked about, and seldom the reader's verbs."""
    answer_words = set(words(answer[:_ANSWER_READ]))
    return [phrase for phrase in subjects if not answer_words.isdisjoint(words(phrase))] or subjects


def _new_phrases(candidates: Sequence[str], text: str) -> list[str]:
    """Returns the phrases with a word that neither the text nor an earlier phrase contains."""
    known_words = set(words(text))
    new_phrases = []
    for phrase in candidates:
        if not known_words.issuperset(words(phrase)):
            new_phrases.append(phrase)
            known_words.update(words(phrase))
    return new_phrases


def _option(question: str, last: _Exchange) -> str | None:
    """Returns what `the second one` refers to: an item of the answer's list, or a phrase of the previous question."""
    position = ordinal(question)
    if position is None:
        return None
    lists = (items(last.answer), phrases(last.question))
    options = next((entries for entries in lists if len(entries) > max(position, 1)), None)
    return options[position] if options else None


def _completed(question: str, previous: str) -> str | None:
    """Returns the previous question with the new thing in its place; None if the question is no ellipsis or the result
    is too long."""
    parts = ellipsis(question)
    if parts is None:
        return None
    preposition, thing = parts
    subjects = phrases(previous)
    if preposition:
        return _limited(_with_preposition(previous, preposition, thing, subjects))
    if len(subjects) == 1:
        return _limited(_with_subject(previous, subjects[0], thing))
    return _limited(f"{question} ({previous.rstrip(' ?.!')})")


def _corrected(question: str, previous: str) -> str | None:
    """Returns the previous question with the right thing in place of the wrong one, or behind the right thing if it is
    not clear which one was wrong; None if the question corrects nothing."""
    parts = correction(question)
    if parts is None:
        return None
    right, wrong = parts
    subjects = phrases(previous)
    named = re.search(re.escape(wrong), previous, re.IGNORECASE) if wrong else None
    likely = [named.group()] if named else get_close_matches(right, subjects, n=1) or list(subjects)
    if len(likely) != 1:
        return _limited(f"{right} ({previous.rstrip(' ?.!')})")
    return _limited(_with_subject(previous, likely[0], right))


def _with_preposition(previous: str, preposition: str, thing: str, subjects: Sequence[str]) -> str:
    """Returns the previous question with `in Python` instead of `in C++`, or at its end."""
    for phrase in subjects:
        match = re.search(rf"\b{preposition}\s+(?:(?:an?|the)\s+)?{re.escape(phrase)}", previous, re.IGNORECASE)
        if match:
            return f"{previous[: match.start()]}{preposition} {thing}{previous[match.end() :]}"
    end = re.search(r"[\s?.!]*(?:\(|$)", previous)
    index = end.start() if end else len(previous)
    return f"{previous[:index]} {preposition} {thing}{previous[index:]}"


def _with_subject(previous: str, subject: str, thing: str) -> str:
    """Returns `What are services?` for `What is a node?` and `services`."""
    before, _, after = previous.partition(subject)
    before = re.sub(r"\b(?:an?|the)\s+$", "", before, flags=re.IGNORECASE)
    if re.fullmatch(r"[a-z]+[a-rt-z]s", thing):
        before = re.sub(r"\bis\s+$", "are ", before)
    return f"{before}{thing}{after}"


def _limited(text: str) -> str | None:
    return text if len(text) <= RESOLVED_MAX else None
