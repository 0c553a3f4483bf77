"""An evaluation or a calibration → values for JSON."""

from typing import Any

from bookwise.evaluation.calibrate import CalibrationRun, Shares
from bookwise.evaluation.metrics import Evaluation, Tally, Verdict


def evaluation_json(run: Evaluation, *, minimum: float) -> dict[str, Any]:
    return {
        "book_id": run.book_id,
        "engine": run.engine,
        "minimum": minimum,
        "passed": run.accuracy >= minimum,
        **_tally(run.total),
        "kinds": {tally.name: _tally(tally) for tally in run.kinds},
        "modules": {tally.name: _tally(tally) for tally in run.modules},
        "citations": {"total": run.citations.asked, "resolved": run.citations.right},
        "sections": {"expected": run.sections.asked, "cited": run.sections.right},
        "grounding": run.grounding,
        "area_under_roc": run.area_under_roc,
        "median_ms": run.median_ms,
        "reliability": [
            {"low": b.low, "high": b.high, "count": b.count, "mean_similarity": b.mean, "share": b.share}
            for b in run.reliability
        ],
        "questions": [_verdict(verdict) for verdict in run.verdicts],
    }


def _tally(tally: Tally) -> dict[str, Any]:
    return {"asked": tally.asked, "right": tally.right, "accuracy": tally.share}


def _verdict(verdict: Verdict) -> dict[str, Any]:
    question = verdict.question
    cited = [citation.passage.chunk.locator for citation in verdict.citations]
    return {
        "id": question.id,
        "kind": question.kind,
        "text": question.text,
        "history": list(question.history),
        "right": verdict.right,
        "why": verdict.why,
        "outcome": verdict.outcome,
        "similarity": verdict.similarity,
        "level": verdict.evidence.confidence.level if verdict.evidence else None,
        "lesson": question.lesson,
        "section": question.section,
        "lesson_cited": verdict.lesson_cited,
        "section_cited": verdict.section_cited,
        "lesson_found": verdict.lesson_found,
        "cited": [{"source_file": where.source_file, "anchor": where.anchor, "url": where.url} for where in cited],
        "broken_citations": list(verdict.broken),
        "answer": verdict.answer.text,
        "total_ms": verdict.answer.meta.total_ms,
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
