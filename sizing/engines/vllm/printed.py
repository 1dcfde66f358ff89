"""What vLLM prints at start-up about its cache, in each release's words."""

from dataclasses import dataclass

from sizing.engines.plan import Printed
from sizing.engines.vllm.cache.groups import Group
from sizing.engines.vllm.rules import Rules
from sizing.units import GIB

SWAP_BYTES = 4 * GIB  # swap_space of the old engine, per GPU


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """One rank's pool as it is printed. `per_request`: blocks of one sequence of max_model_len."""

    available: int
    num_blocks: int
    block_bytes: int
    per_request: int
    max_model_len: int
    dcp: int


def printed_of(pool: Pool, groups: tuple[Group, ...], rules: Rules) -> Printed:
    """Tokens are blocks // groups × the smallest block up to 0.20.0, since then concurrency × length (2.3, 2.7)."""
    blocks = max(0, pool.num_blocks)
    if rules.v0:
        block_size = groups[0].first.block_size
        return Printed(
            kv_tokens=blocks * block_size,
            num_blocks=blocks,
            max_concurrency=blocks * block_size / pool.max_model_len,
        )
    concurrency = blocks / pool.per_request
    if rules.old_token_line:
        tokens = blocks // len(groups) * min(group.first.block_size for group in groups) * pool.dcp
    else:
        tokens = int(concurrency * pool.max_model_len)
    return Printed(kv_tokens=tokens, num_blocks=blocks, max_concurrency=concurrency)


def lines_of(pool: Pool, printed: Printed, rules: Rules) -> tuple[str, ...]:
    if rules.v0:
        return (
            f"# GPU blocks: {printed.num_blocks}, # CPU blocks: {SWAP_BYTES // pool.block_bytes}",
            f"Maximum concurrency for {pool.max_model_len} tokens per request: {printed.max_concurrency:.2f}x",
        )
    available = f"Available KV cache memory: {_gib(pool.available, rules)} GiB"
    tokens = f"GPU KV cache size: {printed.kv_tokens:,} tokens"
    concurrency = f"Maximum concurrency for {pool.max_model_len:,} tokens per request: {printed.max_concurrency:.2f}x"
    return (available, f"{tokens}, {concurrency}") if rules.joins_lines else (available, tokens, concurrency)


def _gib(size: int, rules: Rules) -> str:
    return str(round(size / GIB, 2)) if rules.plain_gib else f"{size / GIB:.2f}"
