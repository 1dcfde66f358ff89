"""What changed between vLLM releases, as far as the cache goes. One Rules object a release."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from sizing import versions
from sizing.engines.vllm.profiling.largest_items import EncoderRules, encoder_rules_of
from sizing.engines.vllm.profiling.rules import ProfileRules, profile_rules_of
from sizing.versions import Version, at_least

VERSIONS = (
    *("0.4", "0.8", "0.9.1", "0.11", "0.12", "0.14", "0.17", "0.18", "0.20", "0.22", "0.24", "0.25", "0.26", "0.28"),
    *("0.29", "0.33"),
)
OLDEST, NEWEST = VERSIONS[0], VERSIONS[-1]
# First release whose layers of the kind set num_prefill_checkpoint_blocks (models/kimi_k3, layers/mamba); a log of
# Qwen3.6-27B on a GH200 with 0.30.0 (v326) has none.
CHECKPOINTS = {"kda": "0.29.0", "mamba2": "0.32.0", "gated_delta": "0.33.0"}
UNTAGGED = "0.2"  # builds from a checkout without tags call themselves 0.1.devN


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Sources: the released packages (PyPI, vllm 0.8.0 to 0.33.0), each change found between two of them.

    `v0`: the old engine, which keeps all layers at full length, and recurrent states outside of the pool.
    `hybrid_groups`: windows are bounded, and models of several kinds of layers are cut into groups.
    `pools_states`: recurrent states have blocks in the same pool.
    `chunks_bounded`: chunked local attention is bounded too.
    `old_token_line`: the printed tokens are blocks // groups × the smallest block size.
    `runs_ahead`: one more batch is in flight than there are pipeline stages; before, windows reserve one batch.
    `caches_states`: prefix caching is on by default for recurrent models too.
    `checkpoints`: kinds of states that take one more block while a prompt is read, to go on from.
    `near_equal`: groups are as large as the largest bucket if that is less than so many twentieths of the smallest.
    `latent_blocks`: blocks forced on latent attention, by the major compute capability.
    `sparse_packed`: `auto` is fp8_ds_mla for sparse latent attention.
    `sparse_on_sm100`, `sparse_on_sm120`: FlashInfer's kernels run sparse latent attention there.
    `large_is_by_name`: H100 and H200 alone have large batches. `spares_a100`: an A100 has the small cards' defaults.
    `largest_batches`: cards of 160 GiB have batches of 16,384 tokens. `fits_batches`: batches are no larger than all
    sequences at full length.
    `triton_mxfp4`: gpt-oss runs with the Triton kernels that vLLM brings along, on SM90; `keeps_scales`: beside their
    swizzled copy. `wide_trtllm`: TensorRT-LLM's kernels pad its intermediate axis to 256, later to 128.
    `loads_unsplit`: the allocator splits no large segments while the model is loaded.
    `fraction`: default gpu_memory_utilization. `plain_gib`: sizes are printed without trailing zeros (40.0 GiB).
    `skips_towers`: encoders of inputs that are limited to none are not loaded, by `skips_all_towers` of every class.
    `shares_heads`: prediction layers use the model's own output head instead of copies.
    `text_only_flag`: --language-model-only allows no media of any kind.
    `long_mrope`: Qwen's rotary tables for images are four times as long, of every model that has them.
    `joins_lines`: tokens and concurrency are printed in one line.
    `profiles_graphs`: an estimate of the graphs is taken out of the budget, `profiles_amd_graphs` on AMD too.
    `profile`: the profile run. `encoder`: the encoder's part of it.
    """

    v0: bool
    hybrid_groups: bool
    pools_states: bool
    chunks_bounded: bool
    old_token_line: bool
    runs_ahead: bool
    caches_states: bool
    checkpoints: frozenset[str]
    near_equal: int
    latent_blocks: Mapping[int, int]
    sparse_packed: bool
    sparse_on_sm100: bool
    sparse_on_sm120: bool
    large_is_by_name: bool
    spares_a100: bool
    largest_batches: bool
    fits_batches: bool
    triton_mxfp4: bool
    keeps_scales: bool
    loads_unsplit: bool
    wide_trtllm: bool
    profiles_graphs: bool
    profiles_amd_graphs: bool
    fraction: float
    plain_gib: bool
    joins_lines: bool
    skips_towers: bool
    skips_all_towers: bool
    long_mrope: bool
    text_only_flag: bool
    shares_heads: bool
    profile: ProfileRules
    encoder: EncoderRules


@lru_cache(maxsize=256)
def rules_of(version: Version) -> Rules:
    """The rules of a release, each with the file of vLLM that changed."""

    def since(release: str) -> bool:
        return at_least(version, release)

    return Rules(
        v0=not since("0.8.0"),  # envs.py: VLLM_USE_V1
        hybrid_groups=since("0.9.1"),  # v1/core/kv_cache_utils.py
        pools_states=since("0.10.2"),  # engine/arg_utils.py: before, recurrent models fall back to the old engine
        chunks_bounded=since("0.14.0"),  # envs.py: VLLM_ALLOW_CHUNKED_LOCAL_ATTN_WITH_HYBRID_KV_CACHE
        old_token_line=not since("0.20.1"),  # v1/core/kv_cache_utils.py
        runs_ahead=since("0.26.0rc0"),  # max_in_flight_tokens; log v200 (0.25.1) has it not, v185 (0.26.1rc0) has it
        caches_states=since("0.28.0"),  # engine/arg_utils.py: opt-in for hybrids in 0.26 and 0.27
        checkpoints=frozenset(kind for kind, release in CHECKPOINTS.items() if since(release)),
        near_equal=30 if since("0.18.0") else 25 if since("0.12.0") else 20,  # v1/core/kv_cache_utils.py
        latent_blocks=_latent_blocks(version),
        sparse_packed=since("0.11.0rc0") and not since("0.11.1"),  # models/config.py: DeepseekV32ForCausalLM
        sparse_on_sm100=since("0.17.0"),  # platforms/cuda.py, as the next
        sparse_on_sm120=since("0.24.0"),
        large_is_by_name=not since("0.8.4"),  # engine/arg_utils.py, as the next two
        spares_a100=since("0.9.0"),
        largest_batches=since("0.28.0"),
        fits_batches=since("0.12.0"),  # 0.11.0 has it not
        triton_mxfp4=since("0.12.0"),  # cmake/external_projects/triton_kernels.cmake
        loads_unsplit=since("0.21.0"),  # v1/worker/gpu_worker.py: _scoped_allocator_max_split
        keeps_scales=not since("0.25.0"),  # fused_moe/oracle/mxfp4.py, as the next
        wide_trtllm=not since("0.27.0"),
        skips_towers=since("0.10.1"),  # vllm-project/vllm pull 22299
        skips_all_towers=since("0.15.0"),  # model_executor/models/interfaces.py: _mark_tower_model
        shares_heads=since("0.16.0"),  # v1/spec_decode/eagle.py; 0.14.1 has it not, 0.15 was not looked at
        text_only_flag=since("0.17.0"),  # config/multimodal.py
        long_mrope=not since("0.32.0"),  # model_executor/layers/rotary_embedding/mrope.py: positions_factor
        profiles_graphs=since("0.20.0"),  # envs.py: VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS
        profiles_amd_graphs=since("0.26.0"),  # v1/worker/gpu_worker.py
        fraction=0.92 if since("0.20.0") else 0.90,  # config/cache.py
        plain_gib=since("0.14.0"),  # utils/mem_utils.py: format_gib
        joins_lines=since("0.28.0"),  # v1/core/kv_cache_utils.py
        profile=profile_rules_of(version),
        encoder=encoder_rules_of(version),
    )


def _latent_blocks(version: Version) -> Mapping[int, int]:
    """FlashMLA, CutlassMLA, FlashInfer (platforms/cuda.py; 0.10.0, 0.15 and those before 0.8 were not looked at)."""
    if at_least(version, "0.18.0") or not at_least(version, "0.8.0"):
        return {}
    if at_least(version, "0.16.0"):
        return {9: 64, 10: 64}
    return {9: 64, 10: 128} if at_least(version, "0.10.1") else {9: 64, 10: 16}


def release_of(text: str | None) -> tuple[str, Version, tuple[str, ...]]:
    """The release to name, the Version to go by, and what to say where it is not one that is modelled."""
    return versions.release_of(text, "vLLM", oldest=OLDEST, newest=NEWEST, untagged=UNTAGGED)
