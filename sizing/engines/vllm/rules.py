"""What changed between vLLM releases, as far as memory goes. One Rules object a release."""

from dataclasses import dataclass
from functools import lru_cache

from sizing.versions import Version, at_least, parse_version

OLDEST, NEWEST = "0.4", "0.33"
UNTAGGED = parse_version("0.2")  # builds from a checkout without tags call themselves 0.1.devN


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Sources: ENGINE_MEMORY 2.7 (which change came when, as logs show), 2.2 and 2.3 for 0.33.

    `v0`: the old engine, which prints GPU blocks and keeps all layers at full length.
    `hybrid_groups`: windows and chunks are bounded and hybrid models are cut into groups.
    `chunks_bounded`: chunked local attention is bounded too.
    `old_token_line`: the printed tokens are blocks // groups × the smallest block size.
    `runs_ahead`: asynchronous scheduling counts one more batch in flight than pipeline stages.
    `caches_states`: prefix caching is on for recurrent models too (align mode).
    `checkpoints`: one more state block for Mamba 2 and for GDN's FlashInfer kernel, which aligns blocks to 64.
    `widest_padding`: groups are as large as the largest bucket while it is less than this many twentieths of the
    smallest.
    `graphs_in_profile`: CUDA graphs are estimated and taken out of the budget.
    `fraction`: default gpu_memory_utilization.
    """

    v0: bool
    hybrid_groups: bool
    chunks_bounded: bool
    old_token_line: bool
    runs_ahead: bool
    caches_states: bool
    checkpoints: bool
    widest_padding: int
    graphs_in_profile: bool
    fraction: float
    null_block_checked: bool
    sparse_auto_packed: bool
    fp32_nemotron_state: bool


@lru_cache(maxsize=256)
def rules_of(version: Version) -> Rules:
    """The rules of a release. Change points that no source states are marked where they stand."""
    newer = _Since(version)
    return Rules(
        v0=not newer("0.8.0"),
        hybrid_groups=newer("0.9.2"),  # unverified
        chunks_bounded=newer("0.21.0"),  # unverified; the environment variable's default was 0 before
        old_token_line=not newer("0.20.1"),
        runs_ahead=newer("0.26.0rc0"),  # receipts v200 (0.25.1: no) and v185 (0.26.1rc0: yes)
        caches_states=newer("0.21.0"),  # receipts v131 (0.20.0: no) and v024 (0.24.0: yes)
        checkpoints=newer("0.26.0rc0"),  # unverified; receipt v024 (0.24.0) has none
        widest_padding=30 if newer("0.21.0") else 25,  # unverified
        graphs_in_profile=newer("0.21.0"),
        fraction=0.92 if newer("0.21.0") else 0.90,  # unverified
        null_block_checked=newer("0.21.0"),  # unverified
        sparse_auto_packed=not newer("0.21.0"),  # unverified
        fp32_nemotron_state=newer("0.21.0"),  # unverified; receipt v131 (0.20.0) has bf16
    )


@dataclass(frozen=True, slots=True)
class _Since:
    version: Version

    def __call__(self, release: str) -> bool:
        return at_least(self.version, release)


def release_of(text: str | None) -> tuple[str, Version, tuple[str, ...]]:
    """The release to go by, its Version, and what to say where it is not the one that was asked for."""
    newest = parse_version(NEWEST)
    assert newest is not None
    if text is None:
        return NEWEST, newest, ()
    version = parse_version(text)
    if version is None:
        return text, newest, (f'"{text[:40]}" is no vLLM release; the rules used are those of {NEWEST}.',)
    if UNTAGGED is not None and version < UNTAGGED:
        return text, newest, (f"{text[:40]} is a build without a release; the rules used are those of {NEWEST}.",)
    if version.release[:2] > newest.release[:2] or not at_least(version, OLDEST):
        nearest = NEWEST if version > newest else OLDEST
        return text, version, (f"vLLM {text[:40]} is not modelled; the rules used are those of {nearest}.",)
    return text, version, ()
