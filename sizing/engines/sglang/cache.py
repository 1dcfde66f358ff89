"""What sequences take of SGLang's pools on one rank."""

from dataclasses import dataclass

from sizing.arrays import Tokens, at_most, not_negative
from sizing.cache import CacheCost
from sizing.engines.plan import Contents
from sizing.engines.sglang.pools import TokenPools
from sizing.engines.sglang.slots import Slots
from sizing.integers import up

NOTHING = CacheCost()


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One rank of a pipeline stage: its pools, and what they allocate a page and a request.

    `window_kept`: most tokens that a request holds in the window pool. `slots_each`: slots a running request takes,
    `state_each` their bytes.
    `shared_by`: ranks that share a sequence's tokens. `encoder_tokens` take rows of the pool beside the text.
    """

    pools: TokenPools
    full_page: int
    window_page: int = 0
    window_kept: int = 0
    all_window: bool = False
    slots: Slots | None = None
    slots_each: int = 1
    state_each: int = 0
    shared_by: int = 1
    encoder_tokens: int = 0
    live: CacheCost = NOTHING


@dataclass(frozen=True, slots=True)
class StageCache:
    """RankCache of a stage. `prefix` tokens of all sequences are stored once, by whole pages."""

    stage: Stage
    prefix: int = 0
    budget: int | None = None

    def kv(self, tokens: Tokens, batch: Tokens) -> Tokens:
        stage = self.stage
        full, window = self._rows(tokens, batch)
        page = stage.pools.page
        return full // page * stage.full_page + window // page * stage.window_page

    def state(self, tokens: Tokens, batch: Tokens) -> Tokens:
        return self.stage.state_each * batch + 0 * tokens

    def live(self, tokens: Tokens, batch: Tokens) -> Tokens:
        return self.stage.live.bytes(tokens, batch, self._once * self.stage.shared_by)

    def need(self, tokens: Tokens, batch: Tokens) -> Tokens:
        stage = self.stage
        full, window = self._rows(tokens, batch)
        rest = stage.pools.need(window if stage.all_window else full, window)
        return rest if stage.slots is None else stage.slots.need(rest, stage.slots_each * batch, self.budget)

    def contents(self, tokens: int, batch: int) -> Contents:
        """Window rows beyond the windows, rows of encoder tokens in layers that do not read them, and more slots."""
        stage, page = self.stage, self.stage.pools.page
        full, window = self._rows(tokens, batch)
        windows = CacheCost(tuple(growth for growth in stage.live.growths if growth.limit is not None))
        text = int(up(-(-tokens // stage.shared_by), page)) * batch
        excess = {
            "window slack": int(window // page * stage.window_page - windows.batch_kv(tokens, batch, self.prefix)),
            "state slots": (stage.state_each - stage.live.state) * batch,
        }
        if stage.encoder_tokens:
            excess["encoder rows"] = (int(full) - text) // page * stage.full_page - stage.live.fixed_kv * batch
        return Contents(stage.live, self.prefix, excess)

    def _rows(self, tokens: Tokens, batch: Tokens) -> tuple[Tokens, Tokens]:
        """Tokens that the load takes of the full and of the window pool, in whole pages a sequence.

        In the window pool a request keeps its window and a page beside it, as the admission floor has it.
        """
        stage = self.stage
        page = stage.pools.page
        own = up(-(-(tokens + stage.encoder_tokens) // stage.shared_by), page)
        once = self._once
        full = own * batch - at_most(own, once) * not_negative(batch - 1) if once else own * batch
        return full, at_most(own, stage.window_kept) * batch if stage.window_kept else 0 * full

    @property
    def _once(self) -> int:
        """Tokens of the shared prefix on this rank, in whole pages."""
        page = self.stage.pools.page
        return self.prefix // self.stage.shared_by // page * page
