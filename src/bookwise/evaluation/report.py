"""An evaluation → one self-contained HTML file. All text from books, readers and models is escaped."""

from collections.abc import Iterator
from html import escape

from bookwise.answering.evidence.confidence import RULES
from bookwise.domain.answers import Passage
from bookwise.evaluation.metrics import (
    ANSWERED_KINDS,
    Evaluation,
    Kind,
    Minimum,
    Tally,
    UsefulnessTally,
    Verdict,
    histogram,
)
from bookwise.evaluation.plots import bars_plot, histogram_plot, reliability_plot

DECISION = RULES[-1][1]  #: minimum average similarity of an answered question
PASSAGE_CHARACTERS = 700

_GROUPS: tuple[tuple[str, tuple[Kind, ...], str], ...] = (
    ("answerable", ANSWERED_KINDS, "good"),
    ("off-topic", ("off-topic",), "bad"),
    ("near-miss", ("near-miss",), "near"),
)

_STYLE = """
:root{color-scheme:light dark;--ink:#1c2330;--soft:#5b6472;--line:#d5dae1;--card:#f6f7f9;--back:#fff;
--good:#1f7a4d;--bad:#b3362b;--near:#a86a00;--curve:#2b5fb3}
@media(prefers-color-scheme:dark){:root{--ink:#e4e8ee;--soft:#9aa5b4;--line:#39424f;--card:#1b212a;--back:#12161c;
--good:#4cc38a;--bad:#f0776b;--near:#e0a83f;--curve:#7aa7f0}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:62rem;padding:1rem;background:var(--back);color:var(--ink);
font:1rem/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.5rem;margin:.5rem 0}h2{font-size:1.2rem;margin:2rem 0 .5rem}h3{font-size:1rem;margin:0 0 .25rem}
p,dl{margin:.25rem 0}.soft{color:var(--soft)}.pass{color:var(--good)}.fail{color:var(--bad)}
.plots{display:grid;gap:1rem;grid-template-columns:repeat(auto-fit,minmax(min(100%,19rem),1fr))}
figure,.miss{margin:0;padding:.75rem;background:var(--card);border:1px solid var(--line);border-radius:.5rem}
figcaption{font-weight:600}.miss{margin:0 0 1rem}svg{width:100%;height:auto}svg text{fill:var(--ink);font-size:11px}
.axis{fill:none;stroke:var(--soft)}.guide{stroke:var(--soft);stroke-dasharray:4 4}
.curve{fill:none;stroke:var(--curve);stroke-width:2}.dot{fill:var(--curve)}.track{fill:var(--line)}
.good{fill:var(--good)}.bad{fill:var(--bad)}.near{fill:var(--near)}
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:.9rem}
th,td{padding:.35rem .5rem;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}
.number{text-align:right;font-variant-numeric:tabular-nums}
blockquote,pre{margin:.5rem 0;padding:.5rem .75rem;border-left:3px solid var(--line);white-space:pre-wrap;font:inherit}
summary{cursor:pointer}
"""


def report_html(run: Evaluation, *, minimum: Minimum) -> str:
    """The whole page."""
    title = escape(f"Answer quality of {run.title}")
    sections = (_summary(run, minimum), _usefulness(run), _plots(run), _misses(run), _not_useful(run), _table(run))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n"
        + "\n".join("".join(section) for section in sections)
        + "\n</main>\n</body>\n</html>\n"
    )


def _summary(run: Evaluation, minimum: Minimum) -> Iterator[str]:
    yield _share_line(run.accuracy, "correct", minimum.correct, met=minimum.correct_met_by(run))
    if minimum.useful is not None:
        yield _share_line(run.usefulness.useful_share, "useful", minimum.useful, met=minimum.useful_met_by(run))
    yield f'<p class="soft">Book {escape(run.book_id)}, engine {escape(run.engine)}, '
    yield f"median {run.median_ms:.0f} ms per answer.</p>"
    yield f'<div class="scroll"><table>{_head("Kind", "Asked", "Correct", "Share")}'
    yield "<tbody>" + "".join(map(_tally_row, (*run.kinds, run.total))) + "</tbody></table></div><ul>"
    yield f"<li>Citations that resolve: {run.citations.right} of {run.citations.asked}</li>"
    yield f"<li>Answers that cite the expected section: {run.sections.right} of {run.sections.asked}</li>"
    if run.grounding is not None:
        yield f"<li>Sentences supported by their passages: {run.grounding:.1%}</li>"
    if run.area_under_roc is not None:
        yield f"<li>Area under ROC, answerable versus off-topic: {run.area_under_roc:.3f}</li>"
    yield "</ul>"


def _share_line(share: float, name: str, minimum: float, *, met: bool) -> str:
    text = f"<strong>{share:.1%} {name}</strong>: {'at or above' if met else 'below'} the required {minimum:.1%}."
    return f'<p class="{"pass" if met else "fail"}">{text}</p>'


def _head(first: str, *numbers: str) -> str:
    cells = "".join(f'<th class="number">{name}</th>' for name in numbers)
    return f"<thead><tr><th>{first}</th>{cells}</tr></thead>"


def _row(first: str, *numbers: str) -> str:
    cells = "".join(f'<td class="number">{number}</td>' for number in numbers)
    return f"<tr><td>{escape(first)}</td>{cells}</tr>"


def _tally_row(tally: Tally) -> str:
    return _row(tally.name, str(tally.asked), str(tally.right), f"{tally.share:.1%}")


def _usefulness(run: Evaluation) -> Iterator[str]:
    if not run.usefulness.asked:
        return
    yield "<h2>Usefulness</h2><p>A useful answer contains at least half of the facts that its question names, "
    yield "a complete answer all of them.</p>"
    yield f'<div class="scroll"><table>{_head("Type", "Asked", "Useful", "Share", "Complete", "Share")}'
    yield "<tbody>" + "".join(map(_usefulness_row, (*run.types, run.usefulness))) + "</tbody></table></div>"
    if run.high.asked:
        yield f"<p>Answers with confidence high that are useful: {run.high.right} of {run.high.asked}</p>"


def _usefulness_row(tally: UsefulnessTally) -> str:
    useful = (str(tally.useful), f"{tally.useful_share:.1%}")
    return _row(tally.name, str(tally.asked), *useful, str(tally.complete), f"{tally.complete_share:.1%}")


def _plots(run: Evaluation) -> Iterator[str]:
    yield '<h2>Figures</h2><div class="plots">'
    yield _figure(
        "Reliability: does similarity mean that the answer was found?",
        reliability_plot(run.reliability),
        "Larger dots mean more questions. On the dashed line, similarity equals the share.",
    )
    note = f"Questions to the right of the dashed line ({DECISION:.2f}) are answered."
    for name, kinds, style in _GROUPS:
        title = f"Similarity of {name} questions"
        counts = histogram(run.similarities(*kinds))
        yield _figure(title, histogram_plot(title, counts, decision=DECISION, style=style), note)
    if run.modules:
        yield _figure("Correct answers per module", bars_plot("Correct answers per module", run.modules), "")
    yield "</div>"


def _figure(caption: str, svg: str, note: str) -> str:
    small = f'<p class="soft">{escape(note)}</p>' if note else ""
    return f"<figure><figcaption>{escape(caption)}</figcaption>{svg}{small}</figure>"


def _misses(run: Evaluation) -> Iterator[str]:
    yield f"<h2>Misses ({len(run.misses)})</h2>"
    if not run.misses:
        yield "<p>None.</p>"
    for verdict in run.misses:
        yield "".join(_miss(verdict))


def _not_useful(run: Evaluation) -> Iterator[str]:
    """The correct answers that are not useful; the wrong ones are among the misses."""
    verdicts = [verdict for verdict in run.not_useful if verdict.right]
    if verdicts:
        yield f"<h2>Correct, but not useful ({len(verdicts)})</h2>"
    for verdict in verdicts:
        yield "".join(_miss(verdict))


def _miss(verdict: Verdict) -> Iterator[str]:
    question = verdict.question
    yield f'<article class="miss" id="{escape(question.id)}"><h3>{escape(question.text)}</h3>'
    if not verdict.right:
        yield f'<p class="fail">{escape(verdict.why)}</p>'
    if verdict.why_not_useful:
        yield f'<p class="fail">Not useful: {escape(verdict.why_not_useful)}</p>'
    yield f'<p class="soft">{escape(question.id)}, {question.kind}, similarity {verdict.similarity:.2f}</p>'
    for earlier in question.history:
        yield f'<p class="soft">earlier question: {escape(earlier)}</p>'
    if question.lesson:
        section = f"#{question.section}" if question.section else ""
        yield f"<p>Expected: <strong>{escape(question.lesson + section)}</strong></p>"
    yield f"<p>Answer ({verdict.outcome}):</p><blockquote>{escape(verdict.answer.text)}</blockquote>"
    passages = verdict.evidence.passages if verdict.evidence else ()
    if passages:
        yield f"<details><summary>{len(passages)} passages</summary>{''.join(map(_passage, passages))}</details>"
    yield "</article>"


def _passage(passage: Passage) -> str:
    where = passage.chunk.locator
    place = f"{where.source_file}#{where.anchor}" if where.anchor else where.source_file
    text = passage.chunk.text
    cut = text if len(text) <= PASSAGE_CHARACTERS else text[:PASSAGE_CHARACTERS] + " …"
    return f"<p>[{passage.number}] {escape(place)}, similarity {passage.score:.2f}</p><pre>{escape(cut)}</pre>"


def _table(run: Evaluation) -> Iterator[str]:
    yield '<h2>All questions</h2><div class="scroll"><table><thead><tr><th></th><th>Question</th><th>Kind</th>'
    yield '<th>Outcome</th><th>Useful</th><th class="number">Similarity</th><th>Expected lesson</th></tr></thead>'
    yield "<tbody>"
    for verdict in run.verdicts:
        question = verdict.question
        mark = (
            '<span class="pass">✓</span>' if verdict.right else f'<a class="fail" href="#{escape(question.id)}">✗</a>'
        )
        yield f'<tr><td>{mark}</td><td>{escape(question.text)}<br><span class="soft">{escape(question.id)}</span></td>'
        yield f"<td>{question.kind}</td><td>{verdict.outcome}</td><td>{_useful_cell(verdict)}</td>"
        yield f'<td class="number">{verdict.similarity:.2f}</td><td>{escape(question.lesson or "")}</td></tr>'
    yield "</tbody></table></div>"


def _useful_cell(verdict: Verdict) -> str:
    if verdict.usefulness is None:
        return ""
    if not verdict.usefulness.useful:
        return f'<a class="fail" href="#{escape(verdict.question.id)}">no</a>'
    return '<span class="pass">complete</span>' if verdict.usefulness.complete else "useful"
