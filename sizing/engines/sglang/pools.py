"""How a budget becomes tokens of one or two pools, and the smallest budget for given tokens (sections 3.1 and 3.2)."""

from dataclasses import dataclass
from fractions import Fraction

from sizing.arrays import Tokens, larger
from sizing.integers import over, times, up

UNLIMITED = 2**62


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenPools:
    """`cell`: bytes the budget is charged a token; `gain`: tokens that one such token stands for (old split).

    `ratio`: tokens of the window pool for each of the full pool, None without one; `cap`: a window pool of so many
    tokens instead. `fixed`: bytes taken first. `least_window`: the smallest window pool that starts.
    """

    page: int
    cell: Fraction
    gain: Fraction = Fraction(1)
    ratio: Fraction | None = None
    cap: int | None = None
    fixed: int = 0
    least_window: int = 0

    def sizes(self, budget: int) -> tuple[int, int]:
        """Tokens of the full and of the window pool."""
        if not self.cell:
            return UNLIMITED // self.page * self.page, 0
        charged = max(0, budget - self.fixed) * self.cell.denominator // self.cell.numerator
        full = int(charged * self.gain) // self.page * self.page
        if self.cap is not None:
            return full, self.cap
        return full, self._window(full)

    def _window(self, full: int) -> int:
        return 0 if self.ratio is None else int(full * self.ratio) // self.page * self.page

    def need(self, full: Tokens, window: Tokens) -> Tokens:
        """The smallest budget whose pools hold so many tokens each (multiples of the page)."""
        if self.ratio is not None:
            window = larger(window, self.least_window)
            full = larger(full, up(over(window, self.ratio), self.page))
        return self.fixed + times(over(full, self.gain), self.cell)
