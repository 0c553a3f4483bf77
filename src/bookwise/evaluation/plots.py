"""Figures → inline SVG without scripts, fonts or colours; the style sheet of the page provides those."""

from collections.abc import Iterator, Sequence
from html import escape

from bookwise.evaluation.metrics import BINS, Bin, Tally

WIDTH, HEIGHT = 360, 240
LEFT, RIGHT, TOP, BOTTOM = 46, 12, 12, 44
ROW = 30
LABEL_LETTERS = 18
_TICKS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


def reliability_plot(bins: Sequence[Bin]) -> str:
    """The share of questions whose lesson was found, by similarity. On the dashed line both are equal."""
    points = [(_x(b.mean), _y(b.share)) for b in bins]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dots = [
        f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="{3 + min(b.count, 25) / 5:.1f}">'
        f"<title>{b.count} questions, similarity {b.mean:.2f}, share {b.share:.0%}</title></circle>"
        for b, (x, y) in zip(bins, points, strict=True)
    ]
    ideal = f'<line class="guide" x1="{_x(0)}" y1="{_y(0)}" x2="{_x(1)}" y2="{_y(1)}"/>'
    inside = [*_axes("average similarity", "share found in the expected lesson", _TICKS, 1.0), ideal]
    return _svg("Reliability curve", [*inside, f'<polyline class="curve" points="{path}"/>', *dots])


def histogram_plot(title: str, counts: Sequence[int], *, decision: float, style: str) -> str:
    """The number of questions by average similarity, with the line between refusal and answer."""
    highest = max(*counts, 1)
    ticks = sorted({0, highest // 2, highest})
    bars = [
        f'<rect class="{style}" x="{_x(i / BINS) + 1:.1f}" y="{_y(count / highest):.1f}" '
        f'width="{(_x(1) - _x(0)) / BINS - 2:.1f}" height="{_y(0) - _y(count / highest):.1f}">'
        f"<title>{count} from {i / BINS:.1f} to {(i + 1) / BINS:.1f}</title></rect>"
        for i, count in enumerate(counts)
    ]
    line = f'<line class="guide" x1="{_x(decision)}" y1="{_y(0)}" x2="{_x(decision)}" y2="{_y(1)}"/>'
    return _svg(title, [*_axes("average similarity", "questions", ticks, highest), *bars, line])


def bars_plot(title: str, tallies: Sequence[Tally]) -> str:
    """The share of correct answers, one bar per tally."""
    height = ROW * len(tallies) + TOP + BOTTOM
    left, span = 130, WIDTH - 130 - 56
    parts = []
    for index, tally in enumerate(tallies):
        top, name = TOP + ROW * index, tally.name
        label = name if len(name) <= LABEL_LETTERS else name[: LABEL_LETTERS - 1] + "…"
        parts += [
            f'<text x="{left - 6}" y="{top + 17}" text-anchor="end">{escape(label)}</text>',
            f'<rect class="track" x="{left}" y="{top + 4}" width="{span}" height="{ROW - 12}"/>',
            f'<rect class="good" x="{left}" y="{top + 4}" width="{span * tally.share:.1f}" height="{ROW - 12}"/>',
            f'<text x="{left + span + 6}" y="{top + 17}">{tally.right}/{tally.asked}</text>',
        ]
    parts += [
        f'<text x="{left + span * tick:.1f}" y="{height - BOTTOM + 16}" text-anchor="middle">{tick:.0%}</text>'
        for tick in (0.0, 0.5, 1.0)
    ]
    parts.append(f'<text x="{left + span / 2}" y="{height - 8}" text-anchor="middle">share correct</text>')
    return _svg(title, parts, height=height)


def _svg(title: str, parts: Sequence[str], *, height: int = HEIGHT) -> str:
    name = escape(title)
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{name}"><title>{name}</title>'
        + "".join(parts)
        + "</svg>"
    )


def _axes(x_label: str, y_label: str, y_ticks: Sequence[float], highest: float) -> Iterator[str]:
    yield f'<path class="axis" d="M{_x(0)} {_y(1)}V{_y(0)}H{_x(1)}"/>'
    for tick in _TICKS:
        yield f'<text x="{_x(tick):.1f}" y="{_y(0) + 16}" text-anchor="middle">{tick:.1f}</text>'
    for tick in y_ticks:
        yield f'<text x="{LEFT - 6}" y="{_y(tick / highest) + 4:.1f}" text-anchor="end">{tick:g}</text>'
    yield f'<text x="{_x(0.5)}" y="{HEIGHT - 8}" text-anchor="middle">{escape(x_label)}</text>'
    middle = _y(0.5)
    yield f'<text x="12" y="{middle}" text-anchor="middle" transform="rotate(-90 12 {middle})">{escape(y_label)}</text>'


def _x(value: float) -> float:
    return LEFT + value * (WIDTH - LEFT - RIGHT)


def _y(value: float) -> float:
    return HEIGHT - BOTTOM - value * (HEIGHT - TOP - BOTTOM)
