"""A stand-alone question → the passages found for it in one book, and the decision whether they answer it."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from bookwise.answering.evidence.answerability import (
    AnswerSignals,
    answerability,
    is_doubtful,
    question_terms,
    read_signals,
)
from bookwise.answering.evidence.confidence import RULES
from bookwise.answering.evidence.decision import Decision, Findings, decide, nothing_found
from bookwise.answering.evidence.spelling import correct_spelling
from bookwise.domain.answers import Evidence, Passage, Question
from bookwise.domain.books import Vector
from bookwise.domain.search import Filter, Hit, SearchQuery, SearchResult
from bookwise.retrieval.search import SearchKit, search
from bookwise.retrieval.sections import section_text
from bookwise.text.question_parts import focus

QUERY_MIN = 3  #: characters; `SearchQuery` accepts no shorter text

LEAST_PASSAGES = RULES[-1][2]  #: judged for every question: fewer are never enough for an answer


@dataclass(slots=True, kw_only=True)
class EvidenceSearch:
    """Searches for one answer. Book, module and hardware tier come from the question; no query can widen them."""

    question: Question
    kit: SearchKit
    seen: dict[str, Passage] = field(default_factory=dict)  #: passages available to the answer, by chunk id
    vector: Vector = ()  #: of the question, as it was searched for
    cosines: dict[str, float] = field(default_factory=dict)  #: of the texts that were compared with the question

    @property
    def by_number(self) -> dict[int, Passage]:
        return {passage.number: passage for passage in self.seen.values()}

    async def retrieve(self, query: str, top_k: int, threshold: float) -> tuple[Passage, ...]:
        """Returns the passages for a query of the agent. A passage found again keeps its number and similarity."""
        result = await self._search(query, top_k)
        passages = [self._numbered(hit) for hit in result.hits]
        return tuple(passage for passage in passages if passage.score >= threshold)

    async def section_text(self, passage: Passage) -> str:
        """Returns the whole section of a passage, as Markdown."""
        return await section_text(passage.chunk, self.kit.index)

    async def closeness(self, texts: Sequence[str]) -> list[float]:
        """Returns the cosine of each text with the question; an empty list if the embedder is a remote service, because
        a second call per question would cost too much time."""
        if not self.kit.embedder.facts.local or not self.vector:
            return []
        new = [text for text in dict.fromkeys(texts) if text not in self.cosines]
        vectors = await self.kit.embedder.embed_texts(new)
        for text, vector in zip(new, vectors, strict=True):
            self.cosines[text] = sum(a * b for a, b in zip(self.vector, vector, strict=True))
        return [self.cosines[text] for text in texts]

    async def evidence(self, query: str) -> Evidence:
        """Returns the evidence of the decision."""
        return (await self.decide(query)).evidence

    async def decide(self, query: str) -> Decision:
        """Returns whether and with which passages the question can be answered; adds these to `seen`."""
        if len(query.strip()) < QUERY_MIN:
            return nothing_found(query)
        decision = await self._best_decision(query)
        self.seen.update((passage.chunk.id, passage) for passage in decision.evidence.passages)
        return decision

    async def _best_decision(self, query: str) -> Decision:
        """Returns the decision about the question; of a long one the surer decision, for all of it or for its focus.

        What a reader tells around a question can name its subject or only distract from it.
        """
        whole = decide(self.question, await self._findings(query))
        if focus(query) == query:
            return whole
        vector, cosines = self.vector, self.cosines
        self.cosines = {}
        focused = decide(self.question, await self._findings(focus(query)))
        if focused.evidence.confidence.average > whole.evidence.confidence.average:
            return focused
        self.vector, self.cosines = vector, cosines
        return whole

    async def _findings(self, query: str) -> Findings:
        result, unknown_words = await self._search_corrected(query)
        self.vector = result.vector
        passages = tuple(_passage(hit, number) for number, hit in enumerate(result.hits, start=1))
        book = await self.kit.catalog.book(self.question.book_id)
        return Findings(
            query=result.query.text,
            passages=passages,
            signals=await self._signals(result.query.text, passages, unknown_words),
            calibration=self.kit.calibration_of(book),
            vectors=await self.kit.index.vectors(self.question.book_id, [p.chunk.id for p in passages]),
            timings=result.timings,
        )

    async def _search_corrected(self, query: str) -> tuple[SearchResult, frozenset[str]]:
        """Returns the hits, and the words of the question that occur nowhere in the book. If the book spells such a
        word differently, searches once more with its spelling."""
        top_k = max(self.question.top_k, LEAST_PASSAGES)
        result = await self._search(query, top_k)
        unknown_words = await self._unknown_words(query)
        if not unknown_words:
            return result, unknown_words
        corrected = correct_spelling(query, unknown_words, (hit.chunk.text for hit in result.hits))
        if corrected == query:
            return result, unknown_words
        return await self._search(corrected, top_k), await self._unknown_words(corrected)

    async def _unknown_words(self, query: str) -> frozenset[str]:
        return await self.kit.index.unknown(self.question.book_id, question_terms(query))

    async def _search(self, query: str, top_k: int) -> SearchResult:
        question = self.question
        within = Filter(book_id=question.book_id, module=question.module, hardware_tier=question.hardware_tier)
        return await search(SearchQuery(text=query, filter=within, limit=top_k), self.kit)

    async def _signals(self, query: str, passages: tuple[Passage, ...], unknown_words: frozenset[str]) -> AnswerSignals:
        """Returns the signals of the sentences that ask: names and words of a story need not be in the book."""
        asking = focus(query)
        unknown = not unknown_words.isdisjoint(question_terms(asking))
        signals = read_signals(asking, passages, unknown=unknown)
        strength = max((passage.strength for passage in passages), default=0.0)
        if not passages or not is_doubtful(answerability(strength, signals)):
            return signals
        return replace(signals, closeness=await self._closeness(signals.sentence))

    async def _closeness(self, sentence: str) -> float | None:
        """Returns the cosine of the question and the sentence; None if it is not known."""
        return next(iter(await self.closeness([sentence])), None) if sentence.strip() else None

    def _numbered(self, hit: Hit) -> Passage:
        """Returns the passage of a hit; a new one gets the next number."""
        if hit.chunk.id not in self.seen:
            self.seen[hit.chunk.id] = _passage(hit, max(self.by_number, default=0) + 1)
        return self.seen[hit.chunk.id]


def _passage(hit: Hit, number: int) -> Passage:
    return Passage(
        number=number,
        chunk=hit.chunk,
        score=hit.score,
        cosine=hit.cosine,
        lexical=hit.lexical,
        strength=hit.strength,
    )
