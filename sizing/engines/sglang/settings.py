"""The choices that fix the pools of a scenario, all hashable, so that pools are laid out once for many loads."""

from dataclasses import dataclass
from fractions import Fraction

from model_catalog.spec import ModelSpec
from sizing.engines.sglang.rules import Rules
from sizing.placement import Placement


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """`format`: the cache format's name. `conv_bytes`, `recurrent_bytes`: 0 leaves an element to the model's config.

    `two_pools`: window layers have a pool of their own, of `ratio` tokens for each full one or, with `caps_window`,
    sized by `running` requests. `running`: max_running_requests of one worker, None if not set. `slots_each`:
    recurrent slots of a running request. `state_ratio`: bytes of states for each byte of tokens. `state_slots`: so many
    slots instead. `draft_tokens`, `draft_layers`: of speculative decoding, else 0. `draft`: a separate checkpoint that
    drafts; `draft_sized`: the budget goes by its own rows.
    """

    rules: Rules
    format: str
    placement: Placement
    page: int
    ratio: Fraction
    two_pools: bool
    caps_window: bool
    running: int | None
    chunk: int
    radix: bool
    slots_each: int
    state_ratio: Fraction
    state_slots: int | None = None
    conv_bytes: int = 0
    recurrent_bytes: int = 0
    draft_tokens: int = 0
    draft_layers: int = 0
    draft: ModelSpec | None = None
    draft_sized: bool = False

    @property
    def chunk_each(self) -> int:
        """Data-parallel attention shares the chunk among its workers (_handle_data_parallelism, 0.4.3 to 0.5.23)."""
        return self.chunk // (self.placement.data_parallel if self.placement.dp_attention else 1)
