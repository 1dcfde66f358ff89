"""What changed between SGLang releases, as far as memory goes (from the released packages).

Read in the packages of 0.4.3, 0.4.4.post1, 0.4.5, 0.4.6.post5, 0.4.7 to 0.4.10 and of every minor release from 0.5.1
to 0.5.23, so each change counts from the first of them that has it.
"""

from dataclasses import dataclass
from functools import lru_cache

from sizing import versions
from sizing.versions import Version, at_least

VERSIONS = (
    "0.4.3", "0.4.4", "0.5.5", "0.5.7", "0.5.8", "0.5.9", "0.5.10", "0.5.11", "0.5.12", "0.5.13", "0.5.14", "0.5.15",
    "0.5.16", "0.5.17", "0.5.18", "0.5.20", "0.5.23",
)  # fmt: skip
NEWEST = VERSIONS[-1]
UNTAGGED = "0.1"  # builds from a checkout without tags call themselves 0.0.0.devN

# Model types that get a pool of their own for window layers, and the release from which (section 3.2).
TWO_POOLS_SINCE = {
    "gpt_oss": "0.5.8",
    "llama4": "0.5.8",
    "llama4_text": "0.5.8",
    "mimo_v2_flash": "0.5.8",
    "mimo_v2": "0.5.8",
    "step3p5": "0.5.9",
    "gemma4": "0.5.11",
    "gemma4_text": "0.5.11",
    "laguna": "0.5.12",
    "gemma4_unified": "0.5.13",
    "gemma4_unified_text": "0.5.13",
    "step3p7": "0.5.13",
    "embedding_gemma2": "0.5.22",
    "granite_swa": "0.5.19",
    "inkling": "0.5.16",
    "inkling_text": "0.5.16",
    "mellum": "0.5.16",
    "muse_glimmer": "0.5.18",
    "muse_spark": "0.5.23",
    "muse_spark_text": "0.5.23",
}

INKLING = ("inkling", "inkling_text")  # both ratios 0.1, and the extra buffer (SGLang arg_groups/model_overrides)

# Architectures whose states are cached with two further buffers a request (SGLang arg_groups/overrides.py).
EXTRA_BUFFER = (
    "qwen3_next",
    "qwen3_5",
    "qwen3_5_text",
    "qwen3_5_moe",
    "qwen3_5_moe_text",
    "bailing_moe_v2_5",
    "falcon_h1",
    "granitemoehybrid",
    "nemotron_h",
    *INKLING,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """`doubles_key`: the budget is charged 2 × key dim where key + value dim is stored.
    `old_split`: tokens of the pools from one cell for all layers, right only if all layers are alike.
    `window_pool_checked`: start-up fails where the window pool cannot hold one window and a page.
    `caps_window_pool`: without radix cache the window pool is sized by max_running_requests.
    `undercharges_sparse`: fp8 sparse MLA is charged 576 bytes and stores 656.
    `fp4_scales_shown`, `fp4_workspace`: what the fp4 print and cell contain.
    `padding_slot_charged`, `draft_slots`: how recurrent slots are charged; "copies", "first" or "share" (section 3.4).
    `fixed_slots`: slots without radix cache and limit; None: the automatic split.
    `extra_buffer`: recurrent prefix caching takes two further slots a request on listed architectures.
    `stage_slots`: a slot holds the recurrent layers of one pipeline stage, before those of all.
    `compressed_pools`: DeepSeek-V4 is known. `rings_by_request`: rings of its wide compressors are paid by request,
    before by window token. `counts_prediction_window`: its prediction layer is charged a window.
    `multimodal_reserve`: the budget leaves 100 MiB for multimodal models.
    `reserves`: what the default fraction leaves free goes by "ranks", by "classes" of cards, or is a sum of "parts".
    `one_more_request`: 0.4.x prints one more than max_running_requests.
    `log_tokens`, `log_dtype`: what the line of the KV cache names.
    """

    version: Version
    doubles_key: bool
    old_split: bool
    window_pool_checked: bool
    caps_window_pool: bool
    undercharges_sparse: bool
    fp4: bool
    fp4_scales_shown: bool
    fp4_workspace: bool
    padding_slot_charged: bool
    draft_slots: str
    fixed_slots: int | None
    extra_buffer: bool
    stage_slots: bool
    compressed_pools: bool
    rings_by_request: bool
    counts_prediction_window: bool
    multimodal_reserve: bool
    reserves: str
    one_more_request: bool
    log_tokens: bool
    log_dtype: bool

    def since(self, release: str) -> bool:
        return at_least(self.version, release)

    def two_pools(self, model_type: str) -> bool:
        first = TWO_POOLS_SINCE.get(model_type)
        return first is not None and self.since(first)


@lru_cache(maxsize=256)
def rules_of(version: Version) -> Rules:
    """The rules of a release."""

    def since(release: str) -> bool:
        return at_least(version, release)

    return Rules(
        version=version,
        doubles_key=not since("0.5.7"),
        old_split=not since("0.5.9"),
        window_pool_checked=since("0.5.16"),
        caps_window_pool=since("0.5.14"),
        undercharges_sparse=not since("0.5.18"),
        fp4=since("0.5.5"),
        fp4_scales_shown=since("0.5.16"),
        fp4_workspace=since("0.5.16"),
        padding_slot_charged=since("0.5.17"),
        draft_slots="share" if since("0.5.13") else "first" if since("0.5.8") else "copies",
        fixed_slots=None if since("0.5.9") else 512,
        extra_buffer=since("0.5.14"),
        stage_slots=since("0.5.17"),
        compressed_pools=since("0.5.12"),
        rings_by_request=since("0.5.15"),  # a public log of 0.5.13: 32,781.44 bytes, of 0.5.15: 13,735.04
        counts_prediction_window=not since("0.5.13"),  # a public log of May 2026: 15,955.85 bytes
        multimodal_reserve=since("0.5.18"),
        reserves="parts" if since("0.5.3") else "classes" if since("0.4.8") else "ranks",
        one_more_request=not since("0.5.0"),
        log_tokens=since("0.4.3.post4"),
        log_dtype=since("0.5.13"),
    )


def release_of(text: str | None) -> tuple[str, Version, tuple[str, ...]]:
    """The release to go by, its Version, and what to say where it is not the one that was asked for."""
    return versions.release_of(text, "SGLang", oldest=VERSIONS[0], newest=NEWEST, untagged=UNTAGGED)
