"""A language model reads whole blocks of the best sections, not only the chunks that were found."""

from dataclasses import replace

import pytest

from bookwise.answering.evidence.confidence import confidence_of
from bookwise.answering.grounding.support import supported
from bookwise.answering.model_evidence import TOTAL, with_section_texts
from bookwise.answering.prompts import direct_messages, shorter_direct_messages
from bookwise.domain.answers import Evidence, Passage
from tests.support.answers import passage, sections_of
from tests.support.scripted_model import task

pytestmark = pytest.mark.anyio

QUESTION = "Which kinds of bread are there?"
STEM = "There are three kinds of bread:"
LIST = "- wheat bread\n- rye bread\n- spelt bread"


def found(*passages: Passage) -> Evidence:
    confidence = confidence_of([0.9] * len(passages), ())
    sections = sections_of(QUESTION, passages)
    return Evidence(question=QUESTION, passages=passages, confidence=confidence, sections=sections)


def in_section(number: int, title: str, text: str) -> Passage:
    return passage(number, 0.9, text=text, section_title=title, heading_path=(title,))


async def read_section(found: Passage) -> str:
    return f"{found.chunk.text}\n\n{LIST}" if found.number == 1 else "filler " * 400


async def test_the_list_after_the_chunk_is_in_the_prompt() -> None:
    evidence = await with_section_texts(found(in_section(1, "Bread", STEM)), read_section)
    prompt = direct_messages(task(evidence=evidence, standalone=QUESTION))[-1]["content"]
    assert f"{STEM}\n\n{LIST}" in prompt
    assert "closest to the question" not in prompt  # a text this short needs no hint


async def test_the_closest_sentence_of_a_long_section_is_a_hint() -> None:
    async def long_section(found: Passage) -> str:
        return f"{found.chunk.text}\n\n" + "The oven is hot. " * 30

    evidence = await with_section_texts(
        found(in_section(1, "Bread", "Old. The kinds of bread are many.")), long_section
    )
    prompt = direct_messages(task(evidence=evidence, standalone=QUESTION))[-1]["content"]
    assert "(closest to the question: The kinds of bread are many.)" in prompt


async def test_a_sentence_that_only_the_section_supports_is_supported() -> None:
    [cut] = found(in_section(1, "Bread", STEM)).passages
    [whole] = (await with_section_texts(found(cut), read_section)).passages
    assert not supported("Spelt bread is one of the kinds.", [cut])
    assert supported("Spelt bread is one of the kinds.", [whole])


async def test_sections_beyond_the_budget_keep_the_text_of_their_passage() -> None:
    many = [in_section(number, f"Bread {number}", f"Bread {number} is bread.") for number in range(1, 9)]
    evidence = await with_section_texts(found(*many), read_section)
    texts = [section.passage.section_text for section in evidence.sections]
    assert texts[0]
    assert not texts[-1]
    assert sum(len(text.split()) for text in texts) <= TOTAL
    assert evidence.sections[-1].passage.text == evidence.sections[-1].passage.chunk.text


async def test_two_passages_of_one_section_are_one_text_in_the_prompt() -> None:
    one = in_section(1, "Bread", STEM)
    evidence = await with_section_texts(found(one, replace(in_section(2, "Bread", "Bread is old."))), read_section)
    prompt = direct_messages(task(evidence=evidence, standalone=QUESTION))[-1]["content"]
    assert "[1] Nodes" in prompt
    assert "[2] Nodes" not in prompt


async def test_a_smaller_window_gets_the_better_half_of_the_sections() -> None:
    evidence = found(in_section(1, "Bread", "Bread kinds are many."), in_section(2, "Tea", "Tea is hot."))
    prompt = shorter_direct_messages(task(evidence=evidence, standalone=QUESTION))[-1]["content"]
    assert "Bread kinds" in prompt
    assert "Tea" not in prompt
