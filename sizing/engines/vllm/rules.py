"""What changed between vLLM releases, as far as the cache goes. One Rules object a release."""

from dataclasses import dataclass
from functools import lru_cache

from sizing.engines.vllm.largest_items import EncoderRules, encoder_rules_of
from sizing.engines.vllm.profile_rules import ProfileRules, profile_rules_of
from sizing.versions import Version, at_least, parse_version

VERSIONS = ("0.4", "0.8", "0.9.2", "0.12", "0.14", "0.20", "0.21", "0.26", "0.27", "0.33")
OLDEST, NEWEST = VERSIONS[0], VERSIONS[-1]
UNTAGGED = "0.2"  # builds from a checkout without tags call themselves 0.1.devN


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Sources: ENGINE_MEMORY 2.2 and 2.3 for 0.33, 2.7 and the start-up logs named below for earlier releases.

    `v0`: the old engine, which keeps all layers at full length, and recurrent states outside of the pool.
    `hybrid_groups`: windows are bounded, and models of several kinds of layers are cut into groups.
    `chunks_bounded`: chunked local attention is bounded too.
    `old_token_line`: the printed tokens are blocks // groups × the smallest block size.
    `runs_ahead`: one more batch is in flight than there are pipeline stages; before, windows reserve one batch.
    `caches_states`: prefix caching is on by default for recurrent models too.
    `checkpoints`: one more state block for Mamba 2 and FlashInfer's GDN kernel, which aligns blocks to 64.
    `near_equal`: groups are as large as the largest bucket if that is less than so many twentieths of the smallest.
    `sparse_packed`: `auto` is fp8_ds_mla for sparse latent attention.
    `fraction`: default gpu_memory_utilization. `plain_gib`: sizes are printed without trailing zeros (40.0 GiB).
    `skips_towers`: encoders of inputs that are limited to none are not loaded, by `skips_all_towers` of every class.
    `text_only_flag`: --language-model-only allows no media of any kind.
    `long_mrope`: Qwen's rotary tables for images are four times as long, of every model that has them.
    `profiles_graphs`: an estimate of the CUDA graphs is taken out of the budget. `profile`: the profile run.
    """

    v0: bool
    hybrid_groups: bool
    chunks_bounded: bool
    old_token_line: bool
    runs_ahead: bool
    caches_states: bool
    checkpoints: bool
    near_equal: int
    sparse_packed: bool
    profiles_graphs: bool
    fraction: float
    plain_gib: bool
    skips_towers: bool
    skips_all_towers: bool
    long_mrope: bool
    text_only_flag: bool
    profile: ProfileRules
    encoder: EncoderRules


@lru_cache(maxsize=256)
def rules_of(version: Version) -> Rules:
    """The rules of a release; "unverified" marks change points that no source states."""

    def since(release: str) -> bool:
        return at_least(version, release)

    return Rules(
        v0=not since("0.8.0"),
        hybrid_groups=since("0.9.2"),  # unverified
        chunks_bounded=since("0.21.0"),  # unverified; the default of the variable that forbids it changed
        old_token_line=not since("0.20.1"),
        runs_ahead=since("0.26.0rc0"),  # log v200 (0.25.1) has it not, v185 (0.26.1rc0) has it
        caches_states=since("0.27.0"),  # vllm-project/vllm pull 50991; logs v204, v206 (0.25.1) have it not
        checkpoints=since("0.27.0"),  # unverified
        near_equal=30 if since("0.21.0") else 25 if since("0.12.0") else 20,  # pull 29303; 1.5 unverified
        sparse_packed=not since("0.12.0"),  # unverified
        profiles_graphs=since("0.20.0"),  # VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS in envs.py of 0.19.0 and 0.20.0
        fraction=0.92 if since("0.20.0") else 0.90,  # config/cache.py of 0.19.0 and 0.20.0
        plain_gib=since("0.14.0"),  # 0.33 prints so; the change point is unverified
        skips_towers=since("0.10.1"),  # vllm-project/vllm pull 22299
        skips_all_towers=since("0.15.0"),  # model_executor/models/interfaces.py: _mark_tower_model
        text_only_flag=since("0.17.0"),  # config/multimodal.py
        long_mrope=not since("0.32.0"),  # model_executor/layers/rotary_embedding/mrope.py: positions_factor
        profile=profile_rules_of(version),
        encoder=encoder_rules_of(version),
    )


def release_of(text: str | None) -> tuple[str, Version, tuple[str, ...]]:
    """The release to name, the Version to go by, and what to say where it is not one that is modelled."""
    newest = parse_version(NEWEST)
    assert newest is not None
    if text is None:
        return NEWEST, newest, ()
    version = parse_version(text)
    shown = text[:40]
    if version is None:
        return text, newest, (f'"{shown}" is not a vLLM release; the rules used are those of {NEWEST}.',)
    if not at_least(version, UNTAGGED):
        return text, newest, (f"{shown} is a build without a release; the rules used are those of {NEWEST}.",)
    if version.release[:2] > newest.release[:2] or not at_least(version, OLDEST):
        nearest = NEWEST if version > newest else OLDEST
        return text, version, (f"vLLM {shown} is not modelled; the rules used are those of {nearest}.",)
    return text, version, ()
