"""What the Accuracy page says: the headline, errors in per cent, amounts with their units."""

from collections.abc import Sequence

from components.format import counted
from sizing.engines.calibration import Checked
from sizing.receipts.comparing import Comparison
from sizing.receipts.summary import Summary

ONCE = {"tokens": "", "blocks": "", "cells": "", "×": "×"}


def headline(summary: Summary) -> str:
    if not summary.predicted:
        return "None of these figures can be predicted"
    return f"{summary.close:,} of {summary.predicted:,} printed figures are predicted within 1 %"


def how(summary: Summary, receipts: int) -> str:
    left = summary.printed - summary.predicted - summary.fitted
    rest = f"; {counted(left, 'figure')} cannot be predicted from what the log states" if left else ""
    told = counted(summary.fitted, "figure")
    read_off = f" Not counted: {told} from which a setting or the model was worked out." if summary.fitted else ""
    return f"{counted(receipts, 'public log')}, each sized again from the settings that it states{rest}.{read_off}"


def per_cent(share: float | None) -> str:
    """0.02 %, 1.3 %, 39 %: unsigned."""
    if share is None:
        return "–"
    value = abs(share) * 100
    decimals = 2 if value < 0.995 else 1 if value < 9.95 else 0
    return f"{value:.{decimals}f} %"


def signed(share: float | None) -> str:
    if share is None:
        return "–"
    sign = "−" if share < 0 else "+" if share > 0 else ""
    return sign + per_cent(share)


def printed(comparison: Comparison) -> str:
    whole, dot, decimals = comparison.text.partition(".")
    return _with_unit(f"{int(whole):,}{dot}{decimals}", comparison.figure.unit)


def predicted(comparison: Comparison) -> str:
    """With as many decimals as were printed."""
    if comparison.predicted is None:
        return "–"
    _, _, decimals = comparison.text.partition(".")
    value = comparison.predicted.value
    number = f"{abs(value):,.{len(decimals)}f}"
    return _with_unit(f"−{number}" if value < 0 else number, comparison.figure.unit)


def _with_unit(number: str, unit: str) -> str:
    return f"{number}{ONCE[unit]}" if unit in ONCE else f"{number} {unit}"


def kind_rows(kinds: Sequence[tuple[str, Summary]]) -> list[list[str]]:
    """Errors without the sign for per cent, which the headings have."""
    return [
        [
            f"{kind}, {summary.predicted:,} of {summary.printed:,}",
            f"{summary.within_rounding:,}",
            *(text.removesuffix(" %") for text in _errors(summary)),
        ]
        for kind, summary in kinds
    ]


def _errors(summary: Summary) -> tuple[str, str, str]:
    worst = signed(summary.worst.error if summary.worst else None)
    return per_cent(summary.median), per_cent(summary.ninetieth), worst


def short_name(comparison: Comparison, longest: int = 30) -> str:
    name = comparison.receipt.name.partition("/")[2] or comparison.receipt.name
    return name if len(name) <= longest else name[: longest - 1] + "…"


def left_out(checked: Checked) -> str:
    """How the fitted terms do on models that they were not fitted to."""
    return (
        f"On models left out of the fit vLLM's available KV is predicted within {checked.median * 100:.1f} % in the "
        f"median of {checked.logs} logs and within {checked.ninetieth * 100:.1f} % in nine of ten. "
        f"{checked.logs - checked.others} of them are from one source; on the other {checked.others} it is "
        f"{checked.others_median * 100:.1f} % in the median and {checked.others_ninetieth * 100:.1f} % in nine of ten."
    )
