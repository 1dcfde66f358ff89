"""What changed between TensorRT-LLM releases, as far as memory goes (_torch/pyexecutor/_util.py)."""

from dataclasses import dataclass
from functools import lru_cache

from sizing.versions import Version, at_least

VERSIONS = ("0.12", "0.13", "0.19", "0.20", "1.0", "1.1", "1.2")
OLDEST, NEWEST = VERSIONS[0], VERSIONS[-1]  # the rules of the newest are those of main in 2026
FRACTION = 0.9  # free_gpu_memory_fraction
MAX_BATCH_SIZE, MAX_NUM_TOKENS = 2048, 8192  # llmapi/llm_args.py


@dataclass(frozen=True, slots=True)
class Rules:
    """`block`: default tokens_per_block; logs of 0.13 and of February 2025 have 64, those of 0.19 have 32.
    `window_pools`: layers of different windows may have pools of their own, as max_attention_window says.
    `equal_shares`: each of these pools has the same part of the memory; before, all hold equally many full windows.
    `rounds_up`: one pool has ⌈tokens / block⌉ blocks and not the floor (resource_manager.py calculate_max_num_blocks).
    `reuse`: blocks of equal prefixes are stored once by default.
    `per_token`: the log calls the bytes of a token so.
    `pads_experts`: MXFP4 experts are padded. `chooses_backend`: what runs experts goes by the card.
    `profiles`: a profiling pass of the PyTorch path tells the peak, and the log names the cache's share of the rest.
    """

    block: int
    window_pools: bool
    equal_shares: bool
    per_token: bool
    rounds_up: bool
    reuse: bool
    profiles: bool
    nvfp4: bool
    int8: bool
    pads_experts: bool
    chooses_backend: bool


@lru_cache(maxsize=256)
def rules_of(version: Version) -> Rules:
    """The rules of a release; "unverified" marks change points that no source states."""

    def since(release: str) -> bool:
        return at_least(version, release)

    return Rules(
        block=32 if since("0.19.0") else 64,
        window_pools=since("0.20.0"),  # unverified
        equal_shares=since("1.2.0"),  # resource_manager.py; 1.2.1 has its TRTLLM_WINDOW_SIZE_SHARES, 1.1 is unverified
        per_token=since("1.2.0"),  # unverified
        rounds_up=not since("1.2.0"),  # unverified: late 2025 rounds up, main of 2026 down
        reuse=since("1.0.0"),  # unverified: off in a log of February 2025
        profiles=since("1.0.0"),  # the release from which the PyTorch path is the default
        nvfp4=since("1.0.0"),  # unverified
        pads_experts=since("1.1.0rc3"),  # receipt t007; 1.0 does not
        chooses_backend=since("1.2.0rc0"),  # unverified: main has it, 1.0 not
        int8=not since("1.0.0"),  # of TensorRT engines; the PyTorch path has fp8 and nvfp4
    )
