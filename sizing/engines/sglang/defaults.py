"""Settings that SGLang chooses by the GPU's memory and the release, and the memory it leaves free (section 3.5).

Sources: `sglang/srt/server_args.py` of 0.4.3 to 0.5.18 and `arg_groups/memory_hook.py` from 0.5.19 on, read in the
released packages; max_running_requests from `model_executor/model_runner.py` and `mem_cache/kv_cache_configurator.py`.
"""

from dataclasses import dataclass

from sizing.engines.sglang.rules import Rules

GIB_IN_MIB = 1024
H100_MIB = 81_559  # where no accelerator is given
MAX_PREFILL_TOKENS = 16_384
FRACTIONS = ((16, 0.79), (8, 0.81), (4, 0.85), (2, 0.87), (1, 0.88))

# Below so many GiB: chunked_prefill_size, largest decode graph below 4 ranks and from 4 on.
BY_MEMORY = (
    (20, 2048, 8, 8),
    (35, 4096, 48, 160),
    (60, 4096, 32, 160),
    (160, 8192, 256, 512),
    (float("inf"), 16_384, 512, 512),
)
SMALL_BEFORE = {"0.5.5": (35, 2048, 16, 80), "0.5.20": (35, 2048, 24, 80)}  # that row in releases before

# 0.4.8 to 0.5.2, below so many GiB: GiB left free, and more of them for each rank.
BY_CLASS = ((35, 2.8, 0.1), (90, 9.5, 0.5), (160, 12.0, 0.5), (float("inf"), 32.0, 0.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """`mib`: what nvidia-smi shows; `capability`: the compute capability's major part, 9 where none is known."""

    mib: float = H100_MIB
    capability: int = 9
    nvidia: bool = True

    @property
    def blackwell(self) -> bool:
        """Of a data centre (SM100, SM103)."""
        return self.capability == 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Reserved:
    """What the memory left free depends on beside card and release.

    `replicas`: of data-parallel attention, else 0. `chunk`: tokens of a prefill. `running`: max_running_requests where
    it was set. `draft`: the speculative method, "" without one. `decode_graphs`: CUDA graphs are captured.
    `prefill_mib`: set aside for the graphs of prefill.
    """

    ranks: int = 1
    stages: int = 1
    replicas: int = 0
    chunk: int = 8192
    running: int | None = None
    draft: str = ""
    decode_graphs: bool = True
    prefill_mib: int = 0


def chunk_default(rules: Rules, card: Card) -> int:
    if rules.reserves == "ranks":
        large = card.mib > 180_000 and rules.since("0.4.7")
        return 16_384 if large else 2048 if card.mib < 25_000 else 8192
    if rules.reserves == "classes":
        return 2048 if card.mib < 35 * GIB_IN_MIB else 8192 if card.mib < 160 * GIB_IN_MIB else 16_384
    return _by_memory(rules, card)[1]


def fraction_default(rules: Rules, card: Card, by: Reserved) -> float:
    """mem_fraction_static: all but what activations and graphs are taken to need."""
    if rules.reserves == "ranks":
        return _by_ranks(rules, card, by)
    reserved = _by_class(rules, card, by) if rules.reserves == "classes" else _by_parts(rules, card, by)
    return max(0.001, round((card.mib - reserved) / card.mib, 3))


def running_default(tokens: int, context: int) -> int:
    """max_running_requests of one worker from its tokens and the longest context."""
    return min(max(min(int(tokens / context * 512), 4096), 2048), tokens // 2)


def _by_memory(rules: Rules, card: Card) -> tuple[float, int, int, int]:
    row = next(row for row in BY_MEMORY if card.mib < row[0] * GIB_IN_MIB)
    before = next((older for release, older in SMALL_BEFORE.items() if not rules.since(release)), row)
    return before if row[0] == before[0] else row


def _by_ranks(rules: Rules, card: Card, by: Reserved) -> float:
    """To 0.4.7. Pipeline stages and large cards count from 0.4.6 on (read in 0.4.5 and 0.4.6.post5)."""
    if not rules.since("0.4.6"):
        return next(fraction for least, fraction in FRACTIONS if by.ranks >= least)
    share = next(fraction for least, fraction in FRACTIONS if by.ranks * by.stages >= least)
    share = share if card.mib <= 80 * GIB_IN_MIB else 0.88
    drafts = by.draft != "" and rules.since("0.4.7")
    if card.mib > 180_000 and rules.since("0.4.7"):
        return 0.79
    if card.mib > 96 * GIB_IN_MIB:
        left = (20 if drafts else 18) * GIB_IN_MIB
        return min(share + 48 * GIB_IN_MIB * (1 - share) / card.mib, (card.mib - left) / card.mib)
    return share * 0.95 if drafts else share


def _by_class(rules: Rules, card: Card, by: Reserved) -> float:
    """0.4.8 to 0.5.2, in MiB."""
    _, least, each = next(row for row in BY_CLASS if card.mib < row[0] * GIB_IN_MIB)
    drafts = 0 if not by.draft else 6 if by.draft == "standalone" and rules.since("0.5.2") else 2
    return (least + each * by.ranks * by.stages + drafts + (4 if by.replicas else 0)) * GIB_IN_MIB


def _by_parts(rules: Rules, card: Card, by: Reserved) -> float:
    """From 0.5.3 on, in MiB: 1.5 a token of a chunk, 2 a sequence of the largest decode graph, and so on."""
    _, _, few, many = _by_memory(rules, card)
    largest = few if by.ranks < 4 else many
    if by.running is not None and rules.since("0.5.22"):
        largest = min(largest, by.running)
    reserved = 512 + 1.5 * max(by.chunk, 2048) + by.ranks * by.stages / 8 * 1024
    if by.decode_graphs or not rules.since("0.5.15"):
        reserved += 2 * largest
    reserved += largest * by.replicas * (4.5 if largest > 300 else 3)
    reserved += by.prefill_mib
    if card.mib > 60 * GIB_IN_MIB:
        reserved = max(reserved, 10 * GIB_IN_MIB)
    return reserved + _drafts(rules, by.draft)


def _drafts(rules: Rules, draft: str) -> int:
    """MiB for a draft model and its graphs, until drafts were loaded before the pool is sized (0.5.14)."""
    if not draft or draft == "ngram" or rules.since("0.5.14"):
        return 0
    return (6 if draft == "standalone" else 4 if rules.since("0.5.10") else 2) * GIB_IN_MIB
