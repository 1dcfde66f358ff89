"""The figures that engines print, and how close a prediction has to come."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["KV tokens", "Max concurrency", "Cache sizes", "State", "Weights", "Available KV", "Compute buffer"]
KINDS: tuple[Kind, ...] = (
    "KV tokens",
    "Max concurrency",
    "Cache sizes",
    "State",
    "Weights",
    "Available KV",
    "Compute buffer",
)


@dataclass(frozen=True, slots=True)
class Figure:
    """`tolerance` is a share of the printed figure: 0 where the prediction has to lie within the printed rounding."""

    label: str
    kind: Kind
    unit: str
    tolerance: float = 0.0


WEIGHTS, BUDGET = 0.02, 0.10  # further off, a row is a miss and needs its reason
FIGURES = {
    "kv_tokens": Figure("KV tokens", "KV tokens", "tokens"),
    "num_blocks": Figure("Blocks", "KV tokens", "blocks"),
    "window_tokens": Figure("Window tokens", "KV tokens", "tokens"),
    "max_concurrency": Figure("Max concurrency", "Max concurrency", "×"),
    "block_size": Figure("Block size", "Cache sizes", "tokens"),
    "needed_kv": Figure("KV one request needs", "Cache sizes", "GiB"),
    "cache_size": Figure("Cache", "Cache sizes", "GiB"),
    "cache_gb": Figure("Cache", "Cache sizes", "GB"),
    "rate": Figure("Cache of a token", "Cache sizes", "B"),
    "key_size": Figure("K cache", "Cache sizes", "GiB"),
    "value_size": Figure("V cache", "Cache sizes", "GiB"),
    "pool_size": Figure("Window and full pools", "Cache sizes", "GiB"),
    "window_key_size": Figure("K cache, windows", "Cache sizes", "GiB"),
    "window_value_size": Figure("V cache, windows", "Cache sizes", "GiB"),
    "main": Figure("Cache", "Cache sizes", "MiB"),
    "main_key": Figure("K cache", "Cache sizes", "MiB"),
    "main_value": Figure("V cache", "Cache sizes", "MiB"),
    "main_cells": Figure("Cells", "KV tokens", "cells"),
    "window": Figure("Window cache", "Cache sizes", "MiB"),
    "window_key": Figure("K cache, windows", "Cache sizes", "MiB"),
    "window_value": Figure("V cache, windows", "Cache sizes", "MiB"),
    "window_cells": Figure("Window cells", "KV tokens", "cells"),
    "draft": Figure("Draft cache", "Cache sizes", "MiB"),
    "draft_cells": Figure("Draft cells", "KV tokens", "cells"),
    "total": Figure("All caches", "Cache sizes", "MiB"),
    "total_gb": Figure("All caches", "Cache sizes", "GB"),
    "state": Figure("State", "State", "MiB"),
    "state_conv": Figure("State, convolution", "State", "MiB"),
    "state_recurrent": Figure("State, recurrent", "State", "MiB"),
    "conv_size": Figure("State, convolution", "State", "GiB"),
    "ssm_size": Figure("State, recurrent", "State", "GiB"),
    "weights": Figure("Weights", "Weights", "GiB", WEIGHTS),
    "device_weights": Figure("Weights on the device", "Weights", "MiB", WEIGHTS),
    "host_weights": Figure("Weights on the host", "Weights", "MiB", WEIGHTS),
    "available_kv": Figure("Available KV", "Available KV", "GiB", BUDGET),
    "compute": Figure("Compute buffer", "Compute buffer", "MiB", BUDGET),
}
