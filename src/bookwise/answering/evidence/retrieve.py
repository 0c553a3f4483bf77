"""A question in stand-alone form → evidence: numbered passages of one book, and how sure they make us."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from bookwise.answering.evidence.answerability import (
    AnswerSignals,
    add_closeness,
    answerability,
    ceiling,
    is_doubtful,
    question_terms,
    read_signals,
)
from bookwise.answering.evidence.confidence import RULES, confidence_of
from bookwise.answering.evidence.spelling import correct_spelling
from bookwise.domain.answers import Evidence, Passage, Question
from bookwise.domain.books import Vector
from bookwise.domain.search import Filter, Hit, SearchQuery, SearchResult
from bookwise.retrieval.search import SearchKit, search
from bookwise.retrieval.sections import section_text

SHORTEST_QUERY = 3
LEAST_PASSAGES = RULES[-1][2]  #: fewer could never be enough for an answer
BEST_WEIGHT = 2 / 3  #: how far the best match of a question speaks for its other passages


@dataclass(slots=True, kw_only=True)
class EvidenceSearch:
    """The passages found for one answer. The book and its filter are the question's; a query cannot widen them."""

    question: Question
    kit: SearchKit
    seen: dict[str, Passage] = field(default_factory=dict)  #: by chunk id, in the order they were found
    vector: Vector = ()  #: of the question, as it was searched for
    cosines: dict[str, float] = field(default_factory=dict)  #: of texts that were compared with the question

    @property
    def by_number(self) -> dict[int, Passage]:
        return {passage.number: passage for passage in self.seen.values()}

    async def retrieve(self, query: str, top_k: int, threshold: float) -> tuple[Passage, ...]:
        """What the book says about a query; a passage found again keeps its number and its similarity."""
        found = await self._search(query, top_k)
        passages = [self._passage(hit, hit.score) for hit in found.hits]
        return tuple(passage for passage in passages if passage.score >= threshold)

    async def section_text(self, passage: Passage) -> str:
        """The whole section a passage belongs to, as Markdown."""
        return await section_text(passage.chunk, self.kit.index)

    async def closeness(self, texts: Sequence[str]) -> list[float]:
        """How close texts are to the question in meaning, by cosine. Only an embedder in this process is asked."""
        if not self.kit.embedder.facts.local or not self.vector:
            return []
        new = [text for text in dict.fromkeys(texts) if text not in self.cosines]
        vectors = await self.kit.embedder.embed_texts(new)
        for text, vector in zip(new, vectors, strict=True):
            self.cosines[text] = sum(a * b for a, b in zip(self.vector, vector, strict=True))
        return [self.cosines[text] for text in texts]

    async def evidence(self, query: str) -> Evidence:
        """The evidence for the question itself."""
        if len(query.strip()) < SHORTEST_QUERY:
            return no_evidence(query)
        found, strange = await self._found(query)
        self.vector = found.vector
        passages = await self._weighed(found, strange)
        kept = tuple(passage for passage in passages if passage.score >= self.question.threshold)
        vectors = await self.kit.index.vectors(self.question.book_id, [p.chunk.id for p in kept])
        confidence = confidence_of([p.score for p in kept], list(vectors.values()))
        return Evidence(question=found.query.text, passages=kept, confidence=confidence, timings=found.timings)

    async def _found(self, query: str) -> tuple[SearchResult, frozenset[str]]:
        """What the book has on a question, and the words of it that stand nowhere in the book. Where the book spells
        them in another way, the question is searched for once more."""
        top_k = max(self.question.top_k, LEAST_PASSAGES)
        found = await self._search(query, top_k)
        strange = await self.kit.index.unknown(self.question.book_id, question_terms(query))
        spelt = correct_spelling(query, strange, (hit.chunk.text for hit in found.hits)) if strange else query
        if spelt == query:
            return found, strange
        return await self._search(spelt, top_k), await self.kit.index.unknown(
            self.question.book_id, question_terms(spelt)
        )

    async def _search(self, query: str, top_k: int) -> SearchResult:
        question = self.question
        within = Filter(book_id=question.book_id, module=question.module, hardware_tier=question.hardware_tier)
        return await search(SearchQuery(text=query, filter=within, limit=top_k), self.kit)

    async def _weighed(self, found: SearchResult, strange: frozenset[str]) -> list[Passage]:
        """The hits on the scale of this question: drawn towards its best match, which is judged by its text too.

        One passage that answers makes a question answerable, and the average of all of them must say so.
        """
        if not found.hits:
            return []
        calibration = self.kit.calibration_of(await self.kit.catalog.book(self.question.book_id))
        numbered = [self._passage(hit, hit.score) for hit in found.hits]
        signs = read_signals(found.query.text, numbered, unknown=bool(strange))
        best, most = await self._judged(found, signs)
        for hit in found.hits:
            score = calibration.similarity(hit.strength + BEST_WEIGHT * (best - hit.strength))
            self.seen[hit.chunk.id] = replace(self.seen[hit.chunk.id], score=min(score, most))
        return [self.seen[hit.chunk.id] for hit in found.hits]

    async def _judged(self, found: SearchResult, signs: AnswerSignals) -> tuple[float, float]:
        """How strong the best match is once its text is read, and the most a similarity may then be."""
        best = answerability(max(hit.strength for hit in found.hits), signs)
        closeness = await self._sentence_closeness(signs.sentence) if is_doubtful(best) else None
        if closeness is not None:
            best = add_closeness(best, closeness)
        return best, ceiling(signs, closeness)

    async def _sentence_closeness(self, sentence: str) -> float | None:
        """Of the likeliest sentence; None where nobody looked."""
        return next(iter(await self.closeness([sentence])), None) if sentence.strip() else None

    def _passage(self, hit: Hit, score: float) -> Passage:
        if hit.chunk.id not in self.seen:
            self.seen[hit.chunk.id] = Passage(
                number=len(self.seen) + 1,
                chunk=hit.chunk,
                score=score,
                cosine=hit.cosine,
                lexical=hit.lexical,
                strength=hit.strength,
            )
        return self.seen[hit.chunk.id]


def no_evidence(query: str) -> Evidence:
    """No passage at all."""
    return Evidence(question=query, passages=(), confidence=confidence_of((), ()))
