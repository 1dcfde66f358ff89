"""Figures of the report as SVG text: the memory of one GPU, the rows of a comparison, the waterfall."""

from collections.abc import Iterator, Sequence
from html import escape

from components import inks
from components.compare_rows import Row
from components.compare_waterfall import Bar as Step
from components.compare_waterfall import bars_of, step_text
from components.compare_wording import result
from components.format import Unit, amount, number_in
from components.segments import Bar, Segment
from sizing.comparison import Waterfall

WIDTH = 720
LETTER = 6.2  # width of a letter at 12 px, on average: enough to keep labels apart
LABEL_FROM = 0.1  # of the width: narrower segments are named in the legend only

# Textures: the colour, the opacity of its ground, the lines of a 6 × 6 tile, their width and turn.
HATCHES: dict[str, tuple[str, float, str, float, int]] = {
    "draft": (inks.WEIGHTS, 0.5, "M0 0V6", 3, 45),
    "encoder": (inks.WEIGHTS, 0.5, "M0 0V6", 3, -45),
    "unused": (inks.KV, 0.12, "M0 0V6", 2, 45),
    "aside": (inks.KV, 0.35, "M0 0V6", 3, -45),
    "copies": (inks.KV, 0.6, "M0 0V6", 3, 0),
    "short": (inks.KV, 0.25, "M0 0V6M0 0H6", 1.4, 45),
}
OUTLINES = {"unused": (inks.KV, 1.0), "aside": (inks.KV, 1.0), "short": (inks.SHORT, 1.5)}


def textures() -> str:
    """One hidden drawing that all figures of a page take their textures from."""
    patterns = "".join(
        f'<pattern id="{name}" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate({turn})">'
        f'<rect width="6" height="6" fill="{colour}" fill-opacity="{alpha}"/>'
        f'<path d="{lines}" stroke="{colour}" stroke-width="{width}"/></pattern>'
        for name, (colour, alpha, lines, width, turn) in HATCHES.items()
    )
    return f'<svg width="0" height="0" style="position:absolute" aria-hidden="true"><defs>{patterns}</defs></svg>'


def memory_svg(bar: Bar, unit: Unit, alternative: str) -> str:
    """The memory bar with its budget and the card's end."""
    scale = WIDTH / bar.extent
    marks = [_segment(segment, scale, 34, 34) for segment in bar.segments]
    marks += [_label(segment, bar, scale, unit) for segment in bar.segments if segment.size > bar.extent * LABEL_FROM]
    if bar.card is not None:
        marks.append(_upright(bar.card * scale, 28, 74, inks.NEUTRAL, 'stroke-width="1.5" stroke-dasharray="2 3"'))
    if bar.budget is not None:
        marks.append(_upright(bar.budget * scale, 28, 74, "#000", 'stroke-width="2"'))
    if bar.card is not None and bar.budget is not None:
        share = f"{bar.budget / bar.card:.0%}".replace("%", " %")
        text = f"budget {number_in(bar.budget, unit)} ({share}) · card {number_in(bar.card, unit)} {unit}"
        marks.append(_text(min(max(bar.card * scale, len(text) * LETTER), WIDTH), 88, text, "end"))
    return _figure(92, marks, alternative)


def rows_svg(rows: Sequence[Row], unit: Unit, alternative: str) -> str:
    """One bar a row on one axis, names above them, results at the right."""
    extent = max((row.bar.extent for row in rows if row.bar), default=1)
    marks = [mark for index, row in enumerate(rows) for mark in _row(row, 46 * index, WIDTH / extent, unit)]
    return _figure(46 * len(rows) + 2, marks, alternative)


def _row(row: Row, top: float, scale: float, unit: Unit) -> Iterator[str]:
    yield _text(0, top + 13, f"{row.key}  {_cut(row.label, 90)}")
    word, number = result(row, unit)
    yield _text(WIDTH, top + 13, f"{number} {word}" if word == "at once" else f"{word} {number}".strip(), "end", True)
    if row.bar is None:
        return
    for segment in row.bar.segments:
        yield _segment(segment, scale, top + 19, 20)
    if row.bar.budget is not None:
        yield _upright(row.bar.budget * scale, top + 16, top + 42, "#000", 'stroke-width="2"')


def waterfall_svg(steps: Waterfall, names: tuple[str, str], unit: Unit, alternative: str) -> str:
    """Totals and steps over the zero line, which is the budget."""
    bars = bars_of(steps, names)
    levels = [0, *(bar.start for bar in bars), *(bar.end for bar in bars)]
    low, high = min(levels), max(levels)
    scale, slot = 150 / max(1, high - low), WIDTH / len(bars)
    marks = [mark for index, bar in enumerate(bars) for mark in _step(bar, slot * index, slot, high, scale, unit)]
    zero = 24 + high * scale
    marks.append(f'<path d="M0 {zero:.1f}H{WIDTH}" stroke="#000" stroke-width="1.5"/>')
    return _figure(214, marks, alternative)


def _step(bar: Step, left: float, slot: float, high: int, scale: float, unit: Unit) -> Iterator[str]:
    top, bottom = (24 + (high - level) * scale for level in (max(bar.start, bar.end), min(bar.start, bar.end)))
    middle = left + slot / 2
    yield (
        f'<rect x="{left + slot * 0.2:.1f}" y="{top:.1f}" width="{slot * 0.6:.1f}" '
        f'height="{max(1.0, bottom - top):.1f}" fill="{bar.colour}"/>'
    )
    below = max(bar.start, bar.end) < 0 and top - (24 + high * scale) < 16
    yield _text(middle, bottom + 13 if below else top - 4, step_text(bar, unit), "middle", True)
    yield _text(middle, 206, _cut(bar.name.replace("<br>", " "), int(slot / LETTER)), "middle")


def _segment(segment: Segment, scale: float, top: float, height: float) -> str:
    width = max(0.5, segment.size * scale - 1.2)
    colour, line = OUTLINES.get(segment.texture, ("", 0))
    fill = segment.colour if segment.texture == "solid" else f"url(#{segment.texture})"
    outline = f' stroke="{colour}" stroke-width="{line}"' if line else ""
    return (
        f'<rect x="{segment.start * scale:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}" rx="2" '
        f'fill="{fill}"{outline}/>'
    )


def _label(segment: Segment, bar: Bar, scale: float, unit: Unit) -> str:
    """Over its segment, and within the figure."""
    text = f"{segment.name} {amount(segment.size, unit)}"
    text = text if len(text) * LETTER < segment.size * scale else segment.name
    reach = len(text) * LETTER / 2
    middle = min(max((segment.start + segment.size / 2) * scale, reach), WIDTH - reach)
    return _text(middle, 22, text, "middle", True)


def _upright(x: float, top: float, bottom: float, colour: str, style: str) -> str:
    return f'<path d="M{min(x, WIDTH - 1):.1f} {top:.1f}V{bottom:.1f}" stroke="{colour}" {style}/>'


def _text(x: float, y: float, text: str, anchor: str = "start", bold: bool = False) -> str:
    weight = ' font-weight="600"' if bold else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{weight}>{escape(text)}</text>'


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _figure(height: float, marks: Sequence[str], alternative: str) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {height:g}" role="img" aria-label="{escape(alternative)}" '
        f'font-size="12">{"".join(marks)}</svg>'
    )
