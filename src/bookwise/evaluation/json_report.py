"""An evaluation or a calibration → values for JSON."""

from typing import Any

from bookwise.evaluation.calibrate import CalibrationRun, Shares
from bookwise.evaluation.metrics import Evaluation, Minimum, Tally, UsefulnessTally, Verdict
from bookwise.schemas.library import RetrievalResult, ValidationResult


def evaluation_json(run: Evaluation, *, minimum: Minimum) -> dict[str, Any]:
    return {
        "book_id": run.book_id,
        "engine": run.engine,
        "minimum": minimum.correct,
        "min_useful": minimum.useful,
        "passed": minimum.met_by(run),
        **_tally(run.total),
        "kinds": {tally.name: _tally(tally) for tally in run.kinds},
        "modules": {tally.name: _tally(tally) for tally in run.modules},
        "usefulness": _usefulness(run),
        "citations": {"total": run.citations.asked, "resolved": run.citations.right},
        "sections": {"expected": run.sections.asked, "cited": run.sections.right},
        "grounding": run.grounding,
        "area_under_roc": run.area_under_roc,
        "median_ms": run.median_ms,
        "reliability": [
            {"low": b.low, "high": b.high, "count": b.count, "mean_similarity": b.mean, "share": b.share}
            for b in run.reliability
        ],
        "questions": [_verdict(validation_result(verdict)) for verdict in run.verdicts],
    }


def _tally(tally: Tally) -> dict[str, Any]:
    return {"asked": tally.asked, "right": tally.right, "accuracy": tally.share}


def _usefulness(run: Evaluation) -> dict[str, Any] | None:
    """The figures of the questions that name facts; None when no question does."""
    if not run.usefulness.asked:
        return None
    return {
        **_usefulness_tally(run.usefulness),
        "types": {tally.name: _usefulness_tally(tally) for tally in run.types},
        "high": {"answers": run.high.asked, "useful": run.high.right},
    }


def _usefulness_tally(tally: UsefulnessTally) -> dict[str, Any]:
    return {
        "asked": tally.asked,
        "useful": tally.useful,
        "complete": tally.complete,
        "useful_share": tally.useful_share,
        "complete_share": tally.complete_share,
    }


def validation_result(verdict: Verdict) -> ValidationResult:
    """The verdict as the library's public object."""
    question, usefulness = verdict.question, verdict.usefulness
    cited = enumerate(verdict.citations, 1)
    return ValidationResult(
        id=question.id,
        kind=question.kind,
        type=question.type,
        question=question.text,
        history=tuple(question.history),
        passed=verdict.right,
        reason=verdict.why,
        outcome=verdict.outcome,
        similarity=verdict.similarity,
        confidence=verdict.evidence.confidence.level if verdict.evidence else None,
        lesson=question.lesson,
        section=question.section,
        lesson_cited=verdict.lesson_cited,
        section_cited=verdict.section_cited,
        lesson_found=verdict.lesson_found,
        sources=tuple(RetrievalResult.of(c.passage, rank=rank, quote=c.quote) for rank, c in cited),
        broken_citations=verdict.broken,
        useful=usefulness.useful if usefulness else None,
        complete=usefulness.complete if usefulness else None,
        missing=usefulness.missing if usefulness else (),
        unwanted=usefulness.unwanted if usefulness else (),
        answer=verdict.answer.text,
        total_time_ms=verdict.answer.meta.total_ms,
    )


def _verdict(result: ValidationResult) -> dict[str, Any]:
    return {
        "id": result.id,
        "kind": result.kind,
        "type": result.type,
        "text": result.question,
        "history": list(result.history),
        "right": result.passed,
        "why": result.reason,
        "outcome": result.outcome,
        "similarity": result.similarity,
        "level": result.confidence,
        "lesson": result.lesson,
        "section": result.section,
        "lesson_cited": result.lesson_cited,
        "section_cited": result.section_cited,
        "lesson_found": result.lesson_found,
        "cited": [
            {"source_file": source.metadata["source_file"], "anchor": source.metadata["anchor"], "url": source.page_url}
            for source in result.sources
        ],
        "broken_citations": list(result.broken_citations),
        "useful": result.useful,
        "complete": result.complete,
        "missing": list(result.missing),
        "unwanted": list(result.unwanted),
        "answer": result.answer,
        "total_ms": result.total_time_ms,
    }


def calibration_json(book_id: str, run: CalibrationRun, *, written: bool) -> dict[str, Any]:
    calibration = run.fit.calibration
    return {
        "book_id": book_id,
        "positives": {"count": len(run.samples.positives), "from_headings": run.samples.from_headings},
        "negatives": {"count": len(run.samples.negatives), "foreign": run.samples.foreign},
        "dropped": list(run.dropped),
        "area_under_roc": run.fit.area,
        "knots": None if calibration is None else [list(knot) for knot in calibration.knots],
        "reason": run.fit.reason or None,
        "before": _shares(run.before),
        "after": _shares(run.after),
        "written": written,
    }


def _shares(shares: Shares | None) -> dict[str, float] | None:
    return None if shares is None else {"answered": shares.answered, "refused": shares.refused}
