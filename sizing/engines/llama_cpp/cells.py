"""How many cells the caches get (src/llama-context.cpp, llama-kv-cache.cpp, llama-kv-cache-iswa.cpp).

Numbers or arrays of tokens and sequences in, cells out.

A Scenario says how many tokens a sequence stores, llama.cpp how many cells there are in all. The context it is started
with is therefore: one unified cache, -c = sequences × tokens; separate streams, -c = slots × the padded tokens.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from sizing.arrays import Tokens, at_most, larger, smaller, where
from sizing.engines.llama_cpp.rules import Rules

AUTOMATIC_SLOTS = 4
LawKind = Literal["full", "window", "raw", "compressed"]


@dataclass(frozen=True, slots=True)
class Law:
    """How a cache grows: with the context, up to a window of `size` tokens, or by one entry for every `size` tokens.

    "raw" is the window of compressed attention. It and "compressed" have a stream for each slot in any case.
    """

    kind: LawKind
    size: int = 0


FULL = Law("full")


def padded(cells: Tokens, multiple: int) -> Tokens:
    return -(-cells // multiple) * multiple


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Server:
    """How llama-server was started. `slots` is the least number of slots, more sequences get more.

    `whole`: every stream has the cells of all (hybrids of old builds). Compared by identity, which is quick: cells of
    single loads are kept, because the devices of a plan ask for the same ones.
    """

    rules: Rules
    slots: int
    unified: bool
    flash: bool
    batch: int
    ubatch: int
    swa_full: bool
    whole: bool = False

    @property
    def padding(self) -> int:
        return self.rules.padding if self.flash else self.rules.plain_padding

    def slots_for(self, sequences: Tokens) -> Tokens:
        """Slots that hold recurrent state."""
        slots = larger(sequences, self.slots)
        return self._four(slots, AUTOMATIC_SLOTS, slots) if self.rules.four_slots else slots

    def streams(self, sequences: Tokens) -> Tokens:
        """Caches side by side; 1 where all share one."""
        if self.unified:
            return 1
        return larger(sequences, self.slots)

    def sharing(self, sequences: Tokens) -> Tokens:
        """Slots that share a stream."""
        slots = larger(sequences, self.slots)
        if self.unified:
            return self.slots_for(sequences)
        return self._four(slots, AUTOMATIC_SLOTS, 1) if self.rules.four_slots else 1

    def _four(self, slots: Tokens, one: int, more: Tokens) -> Tokens:
        """`one` where there is a single slot, else `more`."""
        return where(slots == 1, one, more)

    def context(self, tokens: Tokens, sequences: Tokens) -> Tokens:
        """Cells of each stream that holds every token: of all sequences if they share one, else of a sequence."""
        if self.unified:
            return padded(tokens * sequences, self.padding)
        each = padded(tokens, self.padding)
        return each * larger(sequences, self.slots) if self.whole else each

    def cells(self, law: Law, tokens: Tokens, sequences: Tokens) -> Tokens:
        """Cells of each stream of a cache."""
        if isinstance(tokens, int) and isinstance(sequences, int):
            return _kept_cells(self, law, tokens, sequences)
        return self.counted(law, tokens, sequences)

    def counted(self, law: Law, tokens: Tokens, sequences: Tokens) -> Tokens:
        match law.kind:
            case "full":
                return self.context(tokens, sequences)
            case "window":
                return self._window(self.context(tokens, sequences), law.size * self.sharing(sequences))
            case "raw":
                return self._window(padded(tokens, self.padding), law.size)
            case "compressed":
                return padded(-(-padded(tokens, self.padding) // law.size), self.padding)

    def all_cells(self, law: Law, tokens: Tokens, sequences: Tokens) -> Tokens:
        """Cells of all streams."""
        return self.cells(law, tokens, sequences) * self.streams_of(law, sequences)

    def streams_of(self, law: Law, sequences: Tokens) -> Tokens:
        if law.kind in ("raw", "compressed"):
            return larger(sequences, self.slots)
        return self.streams(sequences)

    def _window(self, context: Tokens, window: Tokens) -> Tokens:
        """llama-kv-cache-iswa.cpp, the oldest rule last."""
        if self.swa_full:
            return context
        room = window + (self.batch if self.rules.window_batch else self.ubatch)
        if self.rules.pads_window:
            return padded(smaller(context, room), self.padding)
        return smaller(context, padded(room, self.padding))

    def used(self, law: Law, tokens: Tokens, sequences: Tokens) -> Tokens:
        """Cells that hold something once `sequences` of `tokens` tokens are in."""
        match law.kind:
            case "full":
                return tokens * sequences
            case "window" | "raw":
                kept = None if self.swa_full else law.size
                return at_most(tokens, kept) * sequences
            case "compressed":
                return tokens // law.size * sequences


@lru_cache(maxsize=1024)
def _kept_cells(server: Server, law: Law, tokens: int, sequences: int) -> int:
    return int(server.counted(law, tokens, sequences))
