"""How close the predictions are, over any set of comparisons."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil

from sizing.receipts.comparing import Comparison

CLOSE = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """`median` and `ninetieth` are of the absolute errors, None where nothing is predicted.

    `fitted`: figures that a setting was read off. They are in `printed` and in nothing else.
    """

    printed: int
    predicted: int
    fitted: int
    within_rounding: int
    close: int
    median: float | None
    ninetieth: float | None
    worst: Comparison | None


def summary_of(comparisons: Iterable[Comparison]) -> Summary:
    every = list(comparisons)
    counted = [each for each in every if each.counts]
    pairs = sorted(
        ((abs(each.error), each) for each in counted if each.error is not None),
        key=lambda pair: (pair[0], pair[1].name),
    )
    errors = [error for error, _ in pairs]
    return Summary(
        printed=len(every),
        predicted=len(pairs),
        fitted=sum(each.predicted is not None for each in every) - len(counted),
        within_rounding=sum(each.within_rounding for each in counted),
        close=sum(error <= CLOSE for error in errors),
        median=_share_of(errors, 0.5),
        ninetieth=_share_of(errors, 0.9),
        worst=pairs[-1][1] if pairs else None,
    )


def _share_of(ordered: list[float], share: float) -> float | None:
    """The smallest value that this share of the values does not exceed."""
    return ordered[ceil(share * len(ordered)) - 1] if ordered else None
