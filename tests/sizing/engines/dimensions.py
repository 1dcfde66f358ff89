"""Models by their dimensions, and what holds for the plans of every engine, for the tests of the engines."""

from typing import Any

from model_catalog.spec import (
    Attention,
    FeedForward,
    Indexer,
    LatentAttention,
    Layer,
    LayerRun,
    Mixer,
    ModelSpec,
    Recurrent,
)
from sizing.capacity import longest_context, most_sequences
from sizing.engines.plan import EnginePlan

INDEXER = Indexer(head_dim=128, heads=64, top_k=2048)


def spec_of(
    *runs: tuple[int, Mixer | None],
    model_type: str = "llama",
    max_context: int = 131_072,
    feed_forward: FeedForward | None = None,
    **fields: Any,
) -> ModelSpec:
    """Runs of layers with at most one mixer each, without weights."""
    return ModelSpec(
        model_type=model_type,
        layers=tuple(
            LayerRun(count, Layer(mixers=() if mixer is None else (mixer,), feed_forward=feed_forward))
            for count, mixer in runs
        ),
        hidden_size=64,
        vocab_size=64,
        max_context=max_context,
        dtype="bf16",
        tied_embeddings=False,
        tensors=(),
        **fields,
    )


def attention(heads: int, kv_heads: int, dim: int, value: int | None = None, window: int | None = None) -> Attention:
    return Attention(heads=heads, kv_heads=kv_heads, head_dim=dim, value_dim=value or dim, window=window)


def latent(heads: int, indexer: Indexer | None = None) -> LatentAttention:
    return LatentAttention(heads=heads, latent_dim=512, rope_dim=64, nope_dim=128, value_dim=128, indexer=indexer)


def gated_delta(key_heads: int, value_heads: int, dim: int = 128, state_dtype: str | None = None) -> Recurrent:
    """Kernel 4 over queries, keys and values, and a square state a value head."""
    return Recurrent(
        kind="gated_delta",
        heads=value_heads,
        state_elements=value_heads * dim * dim,
        conv_channels=(2 * key_heads + value_heads) * dim,
        conv_kernel=4,
        state_dtype=state_dtype,
    )


def mamba2(heads: int, dim: int, groups: int, width: int) -> Recurrent:
    """Heads of `dim`, states of `width`; B and C belong to the groups."""
    return Recurrent(
        kind="mamba2",
        heads=heads,
        state_elements=heads * dim * width,
        conv_channels=heads * dim + 2 * groups * width,
        conv_kernel=4,
        groups=groups,
        group_width=2 * width,
    )


def kda(heads: int, dim: int) -> Recurrent:
    return Recurrent(
        kind="kda", heads=heads, state_elements=heads * dim * dim, conv_channels=3 * heads * dim, conv_kernel=4
    )


def check_capacity(plan: EnginePlan, tokens: int, batch: int) -> None:
    """The most sequences and the longest context fit, and one sequence more does not."""
    most = most_sequences(lambda count: plan.room(tokens, count))
    longest = longest_context(lambda length: plan.room(length, batch))
    if most is not None:
        assert most == 0 or plan.fits(tokens, most)
        assert not plan.fits(tokens, most + 1)
    assert longest == 0 or plan.fits(longest, batch)
