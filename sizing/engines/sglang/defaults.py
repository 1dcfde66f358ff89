"""Settings that SGLang chooses by the GPU's memory and the release (ENGINE_MEMORY section 3.5)."""

from dataclasses import dataclass

from sizing.engines.sglang.rules import Rules

MIB = 1 << 20
H100_MIB = 81_559  # where no accelerator is given
MAX_PREFILL_TOKENS = 16_384
FRACTIONS_04 = ((16, 0.79), (8, 0.81), (4, 0.85), (2, 0.87), (1, 0.88))
SMALL_CARD_04_MIB = 25_000  # unverified; receipt s001 (L4) has 2,048 where larger cards have 8,192

# Below so many GiB: chunked_prefill_size, largest decode graph below 4 ranks and from 4 on.
BY_MEMORY = (
    (20, 2048, 8, 8),
    (35, 4096, 48, 160),
    (60, 4096, 32, 160),
    (90, 8192, 256, 512),
    (160, 8192, 256, 512),
    (float("inf"), 16_384, 512, 512),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """`mib`: what nvidia-smi shows; `capability`: the compute capability's major part, 9 where none is known."""

    mib: float = H100_MIB
    capability: int = 9


def chunk_default(rules: Rules, card: Card) -> int:
    if rules.fraction_by_tensor_parallel:
        return 2048 if card.mib < SMALL_CARD_04_MIB else 8192
    return _by_memory(card)[1]


def _by_memory(card: Card) -> tuple[float, int, int, int]:
    return next(row for row in BY_MEMORY if card.mib < row[0] * 1024)


def fraction_default(
    rules: Rules, card: Card, *, ranks: int, stages: int, replicas: int, chunk: int, graphs: bool
) -> float:
    """mem_fraction_static: all but what activations (1.5 MiB a token of a chunk) and graphs are taken to need.

    `replicas`: data-parallel attention, else 0. Graphs of prefill are counted as none, as the example of 0.835 has it.
    """
    if rules.fraction_by_tensor_parallel:
        return next(fraction for least, fraction in FRACTIONS_04 if ranks >= least)
    reserved = 512 + 1.5 * max(chunk, 2048) + ranks * stages / 8 * 1024
    _, _, few, many = _by_memory(card)
    largest = few if ranks < 4 else many
    reserved += 2 * largest if graphs else 0
    reserved += largest * replicas * (4.5 if largest > 300 else 3)
    if card.mib > 60 * 1024:
        reserved = max(reserved, 10 * 1024)
    return max(0.001, round((card.mib - reserved) / card.mib, 3))


def running_default(tokens: int, context: int) -> int:
    """max_running_requests of one worker from its tokens and the longest context."""
    return min(max(min(int(tokens / context * 512), 4096), 2048), tokens // 2)
