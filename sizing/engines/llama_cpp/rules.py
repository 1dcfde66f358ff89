"""What changed in llama.cpp over time, as far as memory goes: one Rules object a build."""

from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Literal

from sizing.engines.llama_cpp.builds import Build

Latent = Literal["heads", "copied", "transposed", "latent"]
Wording = Literal["self", "unified", "streams", "fork"]

# The change points: pull requests of ggml-org/llama.cpp, and about which build.
LAYERS_WITH_ROWS = date(2024, 10, 30)  # #10026, described on 2024-10-24; b4017 of 2024-11-03 has it
OVERRIDES = date(2025, 4, 2)  # #11397, -ot; --n-cpu-moe itself is of #15077, 2025-08-04
LATENT = date(2025, 4, 15)  # #12801, about b5190
BATCH_WINDOWS = date(2025, 5, 20)  # #13194, about b5445
UBATCH_WINDOWS = date(2025, 5, 31)  # #13833, about b5545
STREAMS = date(2025, 7, 16)  # #14363, about b5908
FLASH_BY_DEFAULT = date(2025, 8, 30)  # #15434, b6327 has it
UNPADDED = date(2025, 10, 28)  # #16812, about b6877
FOUR_SLOTS = date(2025, 11, 2)  # #16736, about b6927; b7079 has it
PADDED_256 = date(2025, 11, 6)  # #17046, about b6968
FIT = date(2025, 12, 20)  # between b7450 (2025-12-14) and b7550 (2025-12-27)
SLOTS_AS_ASKED = date(2025, 12, 15)  # #17997, about b7458
OUTPUT_FIRST = date(2025, 12, 18)  # #18148, described on 2025-12-17
LATENT_ONCE = date(2026, 1, 24)  # #19067, about b7825
HYBRID_STREAMS = date(2026, 2, 12)  # #19559, about b8019
PLAIN_WINDOWS = (date(2026, 4, 1), date(2026, 4, 2))  # #21277 to #21332, about b8630
ROLLBACK = date(2026, 5, 16)  # #22673, b9180
HOST_INPUTS = date(2026, 5, 1)  # b9010 of 2026-05-03 holds embeddings twice (receipts l023, l028)
FEW_OUTPUTS = date(2026, 6, 1)  # #23861, about b9430
WITHOUT_ROWS = date(2026, 7, 1)  # #24216, described on 2026-06-05; b10524 of August 2026 has it
STATE_SNAPSHOTS = date(2026, 8, 14)  # #26623, b10431

# Models whose recurrent state rolls back to rejected drafts, and since when (llm_arch_supports_rs_rollback).
# Qwen4-Exp b10731, Kimi-K3 b10853; the last four are in the sources of October 2026, their build is not known.
ROLLS_BACK = {
    "qwen3_5": ROLLBACK,
    "qwen3_5_moe": ROLLBACK,
    "nemotron_h": STATE_SNAPSHOTS,
    "qwen4_exp": date(2026, 8, 31),
    "kimi_k3": date(2026, 9, 7),
    "lfm2": STATE_SNAPSHOTS,
    "bailing_hybrid": STATE_SNAPSHOTS,
    "glm5_next": STATE_SNAPSHOTS,
    "deepseek_v4": STATE_SNAPSHOTS,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """`padding` and `plain_padding`: cells are a multiple of these with and without flash attention.

    `streams`: sequences may have a cache each. `four_slots`: one slot becomes four that share one cache.
    `whole_streams`: hybrids give every stream the cells of all. `windows`: window layers have a cache of their own;
    `window_batch`: it holds a logical batch beside the window, later a physical one; `pads_window`: the padding comes
    after the bound by the context, not before. `plain_windows`: window caches stay f16.
    `latent`: how latent attention is stored. `few_outputs`: the server reserves logits for its slots only.
    `output_first`: of the layers that -ngl counts the output is the first to go to a GPU, not the last.
    `layers_with_rows`: where matrices are split by rows, the rest and the caches go by layers, not to the first GPU.
    """

    padding: int
    plain_padding: int
    streams: bool
    four_slots: bool
    whole_streams: bool
    windows: bool
    window_batch: bool
    pads_window: bool
    plain_windows: bool
    latent: Latent
    flash_by_default: bool
    few_outputs: bool
    output_first: bool
    layers_with_rows: bool
    wording: Wording
    when: date


@lru_cache(maxsize=1024)
def rules_of(build: Build) -> Rules:
    return _fork(build) if build.fork else _mainline(build.date)


def _mainline(when: date) -> Rules:
    unpadded = UNPADDED <= when < PADDED_256
    padded = when >= PADDED_256
    return Rules(
        padding=1 if unpadded else 256,
        plain_padding=256 if padded else 1 if unpadded else 32,
        streams=when >= STREAMS,
        four_slots=FOUR_SLOTS <= when < SLOTS_AS_ASKED,
        whole_streams=when < HYBRID_STREAMS,
        windows=when >= BATCH_WINDOWS,
        window_batch=when < UBATCH_WINDOWS,
        pads_window=padded,
        plain_windows=PLAIN_WINDOWS[0] <= when < PLAIN_WINDOWS[1],
        latent="heads" if when < LATENT else "copied" if when < LATENT_ONCE else "latent",
        flash_by_default=when >= FLASH_BY_DEFAULT,
        few_outputs=when >= FEW_OUTPUTS,
        output_first=when >= OUTPUT_FIRST,
        layers_with_rows=when >= LAYERS_WITH_ROWS,
        wording=_wording(when),
        when=when,
    )


def _wording(when: date) -> Wording:
    """b5400 has the first kind of line, b5600 the next, b5950 the one with streams."""
    if when < BATCH_WINDOWS:
        return "self"
    return "unified" if when < STREAMS else "streams"


FORK_LATENT: dict[int, Latent] = {0: "heads", 1: "latent", 2: "latent", 3: "latent"}
FORK_DEFAULT = date(2026, 1, 1)  # -mla was 0 by default in early 2025 and is 3 in 2026; the day is not known


def _fork(build: Build) -> Rules:
    """ik_llama.cpp: one cache for all, windows at full length, -mla 0 to 3.

    -mla 1 without flash attention keeps a transposed copy of the latent.
    """
    mla = build.mla if build.mla is not None else 3 if build.date >= FORK_DEFAULT else 0
    return Rules(
        padding=256,
        plain_padding=32,
        streams=False,
        four_slots=False,
        whole_streams=False,
        windows=False,
        window_batch=False,
        pads_window=False,
        plain_windows=False,
        latent="transposed" if mla == 1 else FORK_LATENT[mla],
        flash_by_default=build.date >= FORK_DEFAULT,  # the day is not known either
        few_outputs=False,
        output_first=False,
        layers_with_rows=False,
        wording="fork",
        when=build.date,
    )


def rollback_copies(model_type: str, drafted: int, rules: Rules) -> int:
    """n_rs_seq: copies of the state that a draft of `drafted` tokens needs; 0 where the state is checkpointed."""
    since = next((day for name, day in ROLLS_BACK.items() if model_type.startswith(name)), None)
    return drafted if since is not None and rules.when >= since else 0
