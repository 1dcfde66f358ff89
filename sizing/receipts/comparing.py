"""One printed figure beside its prediction."""

from dataclasses import dataclass
from math import isclose

from sizing.receipts.figures import FIGURES, Figure
from sizing.receipts.receipt import Receipt
from sizing.report import Grade


@dataclass(frozen=True, slots=True)
class Predicted:
    """`low` and `high` are what the rounding of the figures it was worked out from allows."""

    value: float
    grade: Grade
    low: float
    high: float

    @classmethod
    def exactly(cls, value: float, grade: Grade) -> "Predicted":
        return cls(value, grade, value, value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """`family`: the model's type, None where the model is not known.

    `predicted` is None where what the receipt states does not determine the figure; `reason` then says why.
    Otherwise `reason` is the receipt's explanation of a miss, if it has one.
    """

    receipt: Receipt
    family: str | None
    name: str
    text: str
    predicted: Predicted | None
    reason: str | None

    @property
    def figure(self) -> Figure:
        return FIGURES[self.name]

    @property
    def counts(self) -> bool:
        """Whether the figure is predicted from what the log states, not from a setting that was read off it."""
        return self.predicted is not None and self.name not in self.receipt.fitted

    @property
    def printed(self) -> float:
        return float(self.text)

    @property
    def error(self) -> float | None:
        """Signed, as a share of the printed figure. 0 where the prediction would be printed with the same digits."""
        if self.predicted is None:
            return None
        if abs(self.predicted.value - self.printed) <= half_digit(self.text) * 1.001:
            return 0.0
        return self.predicted.value / self.printed - 1

    @property
    def within_rounding(self) -> bool:
        """Whether the ranges that both roundings allow meet."""
        if self.predicted is None:
            return False
        half = half_digit(self.text)
        low, high = self.predicted.low, self.predicted.high
        touches = isclose(low, self.printed + half) or isclose(high, self.printed - half)
        return touches or (low <= self.printed + half and high >= self.printed - half)

    @property
    def hit(self) -> bool:
        if self.within_rounding:
            return True
        return self.error is not None and abs(self.error) <= self.figure.tolerance


def half_digit(text: str) -> float:
    """Half of the last printed digit; 0 for whole numbers, which are counts."""
    _, dot, decimals = text.partition(".")
    return 0.5 * 10 ** -len(decimals) if dot else 0.0
