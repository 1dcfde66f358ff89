"""The context table: what one request takes at several lengths, and how much of the pool several of them fill."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from pandas.io.formats.style import Styler

from components.format import BYTES_IN, Unit, share, short_tokens, two_decimals
from sizing.engines.plan import EnginePlan, RankPlan
from sizing.room import is_tight

LENGTHS = (2048, 8192, 32_768, 131_072)
LOADS = (1, 4, 16, 64, 256)


def context_table(planned: EnginePlan, unit: Unit) -> Styler:
    """One row a length up to the longest request accepted; cells are Markdown, coloured by fit."""
    lengths = _lengths(planned.scenario.max_model_len or LENGTHS[0])
    needs = [_needs(rank, lengths, planned) for rank in planned.ranks]
    pools = [rank.usable for rank in planned.ranks]
    each = f"Each, {unit}"
    columns: dict[str, list[object]] = {
        "Tokens": [f"**{short_tokens(length)}**" for length in lengths],
        each: [max(int(rank.cache.live(n, 1)) for rank in planned.ranks) / BYTES_IN[unit] for n in lengths],
    }
    for column, load in enumerate(LOADS):
        columns[f"× {load}"] = [
            _cell([int(need[row, column]) for need in needs], pools, planned.error_bytes, unit)
            for row in range(len(lengths))
        ]
    return pd.DataFrame(columns).style.format({each: "{:,.2f}"})


def _lengths(longest: int) -> list[int]:
    return [length for length in LENGTHS if length < longest] + [longest]


def _needs(rank: RankPlan, lengths: Sequence[int], planned: EnginePlan) -> np.ndarray:
    """Bytes on a rank by length (rows) and requests over all replicas (columns)."""
    replicas = planned.scenario.data_parallel
    loads = np.array([-(-load // replicas) for load in LOADS], dtype=np.int64)
    tokens = np.array(lengths, dtype=np.int64)[:, None]
    return np.asarray(rank.cache.need(tokens, loads))


def _cell(needs: Sequence[int], pools: Sequence[int | None], error: int, unit: Unit) -> str:
    """Presence of a fill says that it fits; the fullest rank decides."""
    known = [(need, pool) for need, pool in zip(needs, pools, strict=True) if pool is not None]
    if not known:
        return two_decimals(max(needs), unit)
    need, pool = max(known, key=lambda pair: pair[0] / pair[1] if pair[1] > 0 else float("inf"))
    if pool <= 0:
        return ":red[no room]"
    if need > pool:
        return f":red[{share(need, pool)}]"
    colour = "orange" if is_tight(pool - need, pool, error) else "green"
    return f":{colour}-background[{share(need, pool)}]"
