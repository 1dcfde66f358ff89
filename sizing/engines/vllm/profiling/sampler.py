"""What sampling takes in the profile run (_dummy_sampler_run): all rows at once, each with all of its logits."""

from sizing.engines.vllm.profiling.rules import ProfileRules

HALF, FULL = 2, 4
GATHERED = HALF  # logits in the model's format, from all ranks
COPY = FULL  # to which the sampler converts them
SORTED = FULL + 8  # values and indices
# PyTorch sorts rows by segments from 128 rows on: indices, and what CUB needs for a second set of both. Fewer rows it
# sorts as one: two sets of pairs of 32-bit numbers, keys, and CUB's second set (aten/src/ATen/native/cuda/Sort.cu).
SEGMENTED, WHOLE = 8 + SORTED, 8 + 8 + FULL + SORTED
SEGMENTS = 128
PROBABILITIES = 2 * FULL  # and the noise that they are divided by; FlashInfer: masked logits, probabilities
PROGRAMS = 128  # of the kernel that masks logits in place: one row of scratch each, at most one a multiprocessor
COUNTS = FULL + 1 / 8  # of every token: how often it came out, and whether it is in the prompt


def sampler_bytes(rows: int, vocab: int, rules: ProfileRules, *, second: bool) -> int:
    """Scratch of the sampler for `rows` sequences; `second`: by the second model runner."""
    logits = rows * vocab
    if second:
        return logits * (GATHERED + COPY + (PROBABILITIES if rules.warms_sampler else 0))
    if rules.sorts_logits:
        return logits * (GATHERED + COPY + SORTED + (SEGMENTED if rows >= SEGMENTS else WHOLE))
    return logits * (GATHERED + COPY + PROBABILITIES) + FULL * min(rows, PROGRAMS) * vocab


def kept_bytes(sequences: int, vocab: int, rules: ProfileRules, *, second: bool) -> int:
    """Counts of tokens for penalties, which the second runner keeps (v1/worker/gpu/sample/penalties.py)."""
    return round(sequences * vocab * COUNTS) if second and rules.counts_kept else 0
