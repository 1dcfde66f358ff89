"""The pool of recurrent states: how many slots a budget buys and what they are charged.

Source: srt/mem_cache/kv_cache_configurator.py.
"""

from dataclasses import dataclass

from sizing.arrays import Tokens, larger, where


@dataclass(frozen=True, slots=True, kw_only=True)
class Slots:
    """`unit` / `parts` bytes are charged a slot, `pad` once inside the share and `before` ahead of it.

    `fixed`: so many slots; None for the automatic split: for each `rest` bytes of tokens, `share` bytes go to states
    (mamba_full_memory_ratio, 9 to 10 for most).
    """

    unit: int
    parts: int = 1
    pad: int = 0
    before: int = 0
    fixed: int | None = None
    share: int = 9
    rest: int = 10

    def count(self, budget: int) -> int:
        """Slots that running requests can get; the pool holds one more."""
        if self.fixed is not None:
            return self.fixed
        whole = self.rest + self.share
        return max(0, (self.share * (budget - self.before) - whole * self.pad) * self.parts // (whole * self.unit))

    def charge(self, slots: Tokens) -> Tokens:
        return self.before + self.pad - (-slots * self.unit // self.parts)

    def need(self, rest: Tokens, slots: Tokens, budget: int | None) -> Tokens:
        """The smallest budget that buys `slots` and leaves `rest` bytes for tokens.

        What is left falls by a slot each time that one more is bought, so a budget a little above the smallest may
        not do; where `budget` is such a one, the need is the next that does.
        """
        if self.fixed is not None:
            return rest + self.charge(larger(slots, self.fixed))
        bought = larger(slots, self._enough_for(rest))
        least = larger(self._least(bought), rest + self.charge(bought))
        if budget is None:
            return least
        dipped = rest + self.charge(self.count(budget))
        return where((least <= budget) & (dipped > budget), dipped, least)

    def _least(self, slots: Tokens) -> Tokens:
        """The smallest budget that buys so many slots."""
        charged = slots * self.unit + self.pad * self.parts
        return self.before - (-charged * (self.rest + self.share) // (self.share * self.parts))

    def _enough_for(self, rest: Tokens) -> Tokens:
        """The fewest slots at which `rest` bytes may still be left, just before one more is bought."""
        whole = self.rest + self.share
        spare = self.share * self.parts * rest - whole * self.unit - self.rest * self.pad * self.parts
        slots = larger(spare // (self.rest * self.unit) - 1, 0)
        for _ in range(3):
            slots = slots + (self._least(slots + 1) - 1 - self.charge(slots) < rest) * 1
        return slots
