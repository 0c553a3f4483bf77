"""A stand-alone question → the passages found for it in one book, and the decision whether they answer it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from bookwise.answering.evidence.answerability import (
    AnswerSignals,
    answerability,
    doubt,
    is_doubtful,
    question_terms,
    read_signals,
)
from bookwise.answering.evidence.confidence import LEAST_PASSAGES
from bookwise.answering.evidence.decision import Decision, Findings, decide, nothing_found
from bookwise.answering.evidence.spelling import correct_spelling
from bookwise.answering.evidence.usefulness import LEAD_MAX, usefulness
from bookwise.answering.relevance.question_type import classify_question
from bookwise.answering.relevance.sections import (
    contenders,
    question_weights,
    rank_sections,
    rerank_sections,
)
from bookwise.domain.answers import Evidence, Passage, Question
from bookwise.domain.books import Vector
from bookwise.domain.search import Filter, Hit, SearchQuery, SearchResult
from bookwise.retrieval.concurrency import concurrently
from bookwise.retrieval.search import SearchKit, search
from bookwise.retrieval.sections import section_text
from bookwise.text.question_parts import focus

QUERY_MIN = 3  #: characters; `SearchQuery` accepts no shorter text
TITLED_CHUNKS = 20  #: read to find a lesson by its title: chunks of a lesson contain its title


@dataclass(slots=True, kw_only=True)
class EvidenceSearch:
    """Searches for one answer. Book, module and hardware tier come from the question; no query can widen them."""

    question: Question
    kit: SearchKit
    lesson_id: str | None = None  #: search only this lesson
    seen: dict[str, Passage] = field(default_factory=dict)  #: passages available to the answer, by chunk id

    @property
    def by_number(self) -> dict[int, Passage]:
        return {passage.number: passage for passage in self.seen.values()}

    async def retrieve(self, query: str, top_k: int, threshold: float) -> tuple[Passage, ...]:
        """Returns the passages for a query of the agent. A passage found again keeps its number and similarity."""
        result = await self._search(query, top_k)
        passages = [self._numbered(hit) for hit in result.hits]
        return tuple(passage for passage in passages if passage.score >= threshold)

    async def lesson_titled(self, option: str) -> str | None:
        """Returns the id of the lesson in an option of a question back, such as `Topics › Quality of service`; None if
        no such lesson is found, or several."""
        result = await self._search(option, TITLED_CHUNKS)
        lessons = {hit.chunk.lesson_id for hit in result.hits if _names_lesson(option, hit.chunk.locator.page_title)}
        return lessons.pop() if len(lessons) == 1 else None

    async def section_text(self, passage: Passage) -> str:
        """Returns the whole section of a passage, as Markdown."""
        return await section_text(passage.chunk, self.kit.index)

    async def evidence(self, query: str) -> Evidence:
        """Returns the evidence of the decision."""
        return (await self.decide(query)).evidence

    async def decide(self, query: str) -> Decision:
        """Returns whether and with which passages the question can be answered; adds these to `seen`."""
        if len(query.strip()) < QUERY_MIN:
            return nothing_found(query)
        findings, decision = await self._judged(query)
        if (core := focus(query)) != query:
            # the story around a question can name its subject or only distract from it
            others = await self._judged(core)
            if others[1].evidence.confidence.average > decision.evidence.confidence.average:
                findings, decision = others
        if decision.refusal is None:
            decision = replace(decision, evidence=await self._with_sections(decision.evidence, findings))
        self.remember(decision.evidence.passages)
        return decision

    def remember(self, passages: Iterable[Passage]) -> None:
        """Makes passages available to the answer, in place of those with the same chunk."""
        self.seen.update((passage.chunk.id, passage) for passage in passages)

    async def _judged(self, query: str) -> tuple[Findings, Decision]:
        findings = await self._findings(query)
        return findings, decide(self.question, findings)

    async def _with_sections(self, evidence: Evidence, findings: Findings) -> Evidence:
        """Returns the evidence with its sections, best first, and with the usefulness of an answer from them."""
        question = classify_question(evidence.question)
        weights = question_weights(question, evidence.passages)
        sections = rank_sections(question, evidence.passages, weights)
        if sentences := [section.sentence for section in contenders(sections)]:
            sections = rerank_sections(sections, await self._closeness(sentences, findings.vector))
        probability = usefulness(
            similarity=findings.calibration.similarity(sections[0].passage.strength),
            lead=sections[0].score - sections[1].score if len(sections) > 1 else LEAD_MAX,
            agreement=sections[0].passage.number == evidence.passages[0].number,
            names_missing=findings.signals.names is False,
        )
        confidence = replace(evidence.confidence, usefulness=probability)
        return replace(evidence, sections=tuple(sections), confidence=confidence)

    async def _findings(self, query: str) -> Findings:
        result, unknown_words = await self._search_corrected(query)
        passages = tuple(_passage(hit, number) for number, hit in enumerate(result.hits, start=1))
        book = await self.kit.catalog.book(self.question.book_id)
        return Findings(
            query=result.query.text,
            passages=passages,
            signals=await self._signals(result, passages, unknown_words),
            vector=result.vector,
            calibration=self.kit.calibration_of(book),
            vectors=await self.kit.index.vectors(self.question.book_id, [p.chunk.id for p in passages]),
            timings=result.timings,
        )

    async def _search_corrected(self, query: str) -> tuple[SearchResult, frozenset[str]]:
        """Returns the hits, and the words of the question that occur nowhere in the book. If the book spells such a
        word differently, searches once more with its spelling."""
        top_k = max(self.question.top_k, LEAST_PASSAGES)
        result, unknown_words = await self._search_and_check_words(query, top_k)
        if not unknown_words:
            return result, unknown_words
        corrected = correct_spelling(query, unknown_words, (hit.chunk.text for hit in result.hits))
        if corrected == query:
            return result, unknown_words
        return await self._search_and_check_words(corrected, top_k)

    async def _search_and_check_words(self, query: str, top_k: int) -> tuple[SearchResult, frozenset[str]]:
        result, unknown_words = await concurrently(
            partial(self._search, query, top_k), partial(self._unknown_words, query)
        )
        return result, unknown_words

    async def _unknown_words(self, query: str) -> frozenset[str]:
        return await self.kit.index.unknown(self.question.book_id, question_terms(query))

    async def _search(self, query: str, top_k: int) -> SearchResult:
        question = self.question
        within = Filter(
            book_id=question.book_id,
            module=question.module,
            chapter_min=question.chapter,
            chapter_max=question.chapter,
            hardware_tier=question.hardware_tier,
            proficiency_levels=(question.proficiency_level,) if question.proficiency_level else (),
            lesson_id=self.lesson_id,
        )
        return await search(SearchQuery(text=query, filter=within, limit=top_k), self.kit)

    async def _signals(
        self, result: SearchResult, passages: tuple[Passage, ...], unknown_words: frozenset[str]
    ) -> AnswerSignals:
        """Returns the signals of the sentences that ask: names and words of a story need not be in the book."""
        asking = focus(result.query.text)
        unknown = not unknown_words.isdisjoint(question_terms(asking))
        signals = read_signals(asking, passages, unknown=unknown)
        strength = answerability(max((passage.strength for passage in passages), default=0.0), signals)
        if not signals.sentence.strip() or not is_doubtful(strength):
            return signals
        cosines = await self._closeness([signals.sentence], result.vector)
        return replace(signals, closeness=next(iter(cosines), None), doubt=doubt(strength))

    async def _closeness(self, texts: Sequence[str], question: Vector) -> list[float]:
        """Returns the cosine of each text with the question; an empty list if the embedder is a remote service, because
        a second call per question would cost too much time."""
        if not self.kit.embedder.facts.local:
            return []
        vectors = await self.kit.embedder.embed_texts(texts)
        return [sum(a * b for a, b in zip(question, vector, strict=True)) for vector in vectors]

    def _numbered(self, hit: Hit) -> Passage:
        """Returns the passage of a hit; a new one gets the next number."""
        if hit.chunk.id not in self.seen:
            self.seen[hit.chunk.id] = _passage(hit, max(self.by_number, default=0) + 1)
        return self.seen[hit.chunk.id]


def _names_lesson(option: str, title: str) -> bool:
    """Returns whether an option is this lesson, alone or with its section or page."""
    return option == title or option.startswith((f"{title} › ", f"{title}, page "))


def _passage(hit: Hit, number: int) -> Passage:
    return Passage(
        number=number,
        chunk=hit.chunk,
        score=hit.score,
        cosine=hit.cosine,
        lexical=hit.lexical,
        strength=hit.strength,
    )
