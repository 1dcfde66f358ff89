"""The sentences of Compare, with what the user wrote kept from being read as markup."""

from collections.abc import Callable, Sequence

from components import wording
from components.compare_pins import NOW
from components.compare_rows import Row, Varied
from components.format import Unit, amount, number_in
from components.plain_text import literal


def headline(rows: Sequence[Row], unit: Unit, shown: Callable[[str], str] = literal) -> str:
    """3 of 8 fit; E, Gemma-3-27B on 1 × H200, serves most per dollar. `shown` makes names safe for where it goes."""
    if len(rows) == 1:
        return _alone(rows[0], unit)
    fitting = [row for row in rows if row.report and row.report.verdict.fits]
    if not fitting:
        return f"{'Neither' if len(rows) == 2 else f'None of {len(rows):,}'} {_closest(rows, unit)}"
    if len(fitting) == 1:
        return f"1 of {len(rows):,} fits: {fitting[0].key}, {shown(fitting[0].label)}"
    all_of_them = "Both fit" if len(rows) == 2 else f"All {len(rows):,} fit"
    count = all_of_them if len(fitting) == len(rows) else f"{len(fitting):,} of {len(rows):,} fit"
    return f"{count}{_best(fitting, shown)}"


def _alone(row: Row, unit: Unit) -> str:
    if row.planned is None or row.report is None:
        return "This scenario cannot be"
    return wording.verdict_line(row.planned, row.report, unit)


def _closest(rows: Sequence[Row], unit: Unit) -> str:
    short = [
        (row.report.verdict.short_by_bytes, row.key)
        for row in rows
        if row.report and row.report.verdict.short_by_bytes is not None
    ]
    if not short:
        return "has a known memory"
    size, key = min(short)
    return f"{'fits' if len(rows) == 2 else 'fit'}; {key} is short by least, {amount(size, unit)} per GPU"


def _best(fitting: Sequence[Row], shown: Callable[[str], str]) -> str:
    """Rows under different loads are not ranked: their counts mean different things."""
    ranked = [row for row in fitting if row.most]
    if len(ranked) < 2 or Varied.among([row.report for row in ranked if row.report]).load:
        return ""
    priced = [row for row in ranked if row.usd]
    if len(priced) == len(ranked):
        best = max(ranked, key=lambda row: (row.most or 0) / (row.usd or 1))
        return f"; {best.key}, {shown(best.label)}, serves most per dollar"
    best = max(ranked, key=lambda row: row.most or 0)
    return f"; {best.key}, {shown(best.label)}, serves most"


def how_sure(rows: Sequence[Row]) -> str:
    """Which rows rest on assumptions; one sentence where all are alike."""
    said: dict[str, list[str]] = {}
    for row in rows:
        if row.report:
            said.setdefault(wording.sure_of(row.report), []).append(row.key)
    rest = "Activations, CUDA graphs and runtime are estimates where they are drawn."
    if len(said) == 1:
        return f"{next(iter(said))}. {rest}"
    return " ".join(f"{', '.join(keys)}: {sentence}." for sentence, keys in said.items()) + f" {rest}"


def result(row: Row, unit: Unit) -> tuple[str, str]:
    """What stands at the right of a row: a word before the number, the number, or the other way round."""
    if row.report is None:
        return "cannot be", ""
    verdict = row.report.verdict
    if verdict.fits is None:
        gpu = row.report.per_gpu
        return "needs", number_in(gpu.static_bytes + gpu.cache_bytes, unit)
    if not verdict.fits:
        return "short", number_in(verdict.short_by_bytes or 0, unit)
    return "at once", "any number" if row.most is None else f"{row.most:,}"


def called(key: str) -> str:
    return "the form's scenario" if key == NOW else key
