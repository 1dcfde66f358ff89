"""DeepSeek-V4: compressed attention, hyper-connections, and a mixture of experts in every layer."""

from collections.abc import Callable
from dataclasses import replace

from model_catalog.blocks.compressed import compressed_attention
from model_catalog.blocks.hyper import hyper_head, manifold_connections
from model_catalog.blocks.linear import linear, norm, small
from model_catalog.blocks.mixture import feed_forward
from model_catalog.blocks.prediction import DSPARK, prediction_tower
from model_catalog.fields import Fields
from model_catalog.importers.decoder import decoder, read_as
from model_catalog.importers.latent_parts import indexer_of, prediction_layers, two_norms
from model_catalog.spec import CompressedAttention, FeedForward, Layer, ModelSpec, Tower
from model_catalog.tensors import TensorClass

WINDOW = "sliding_attention"
SPARSE = "compressed_sparse_attention"
HEAVY = "heavily_compressed_attention"
RATIOS = {0: WINDOW, 4: SPARSE, 128: HEAVY}  # what compress_ratios of the published configs stand for


def read_deepseek_v4(f: Fields) -> ModelSpec:
    """DeepSeek-V4 (transformers 5.24.0, models/deepseek_v4); deepseek_ref names the same fields."""
    layers, hidden, streams = f.layer_count(), f.whole("hidden_size"), f.whole("hc_mult")
    rates = _rates(f)
    built = [_layer(f, kind, rates) for kind in _kinds(f, layers)]
    drafts = _drafts(f, rates) if f.raw("dspark_block_size") is None else _stages(f, rates, layers)
    return decoder(f, built, extra=hyper_head(hidden, streams), towers=drafts)


def _kinds(f: Fields, layers: int) -> list[str]:
    """layer_types, else compress_ratios, else two heavily compressed layers and then both kinds in turn."""
    stated = f.items("layer_types", str)
    ratios = f.items("compress_ratios", int)
    if stated is None and ratios is None:
        return [SPARSE if i >= 2 and i % 2 else HEAVY for i in range(layers)]
    if stated is None:
        stated = [RATIOS.get(ratio, f"compress_ratios {ratio}") for ratio in ratios or ()]
    if len(stated) < layers:
        raise f.error(
            "layer_types" if ratios is None else "compress_ratios", f"one entry for each of {layers:,} layers"
        )
    for odd in sorted(set(stated[:layers]) - set(RATIOS.values())):
        f.doubt("layer_types", f'"{odd[:40]}" layers are not understood; they are counted as {HEAVY}.')
    return stated[:layers]


def _rates(f: Fields) -> dict[str, int]:
    """Tokens per compressed entry, by layer kind."""
    rates = {SPARSE: 4, HEAVY: 128}
    part = f.part("compress_rates")
    for kind, older in ((SPARSE, "compress_rate_csa"), (HEAVY, "compress_rate_hca")):
        stated = part.whole(kind, rates[kind]) if part else rates[kind]
        rates[kind] = f.whole(older, stated)
    return rates


def _layer(f: Fields, kind: str, rates: dict[str, int]) -> Layer:
    hidden, size = f.whole("hidden_size"), f.whole("moe_intermediate_size")
    mixer = _mixer(f, kind, rates)
    part = FeedForward(
        intermediate=size,
        experts=f.whole("n_routed_experts"),
        top_k=f.whole("num_experts_per_tok"),
        shared_intermediate=size,
    )
    attention = compressed_attention(
        mixer,
        hidden,
        query_rank=f.whole("q_lora_rank"),
        groups=f.whole("o_groups"),
        output_rank=f.whole("o_lora_rank"),
    )
    return Layer(
        mixers=(mixer,),
        feed_forward=part,
        tensors=(
            *attention,
            *feed_forward(hidden, part, bias=f.flag("mlp_bias")),
            *two_norms(f, True),
            *manifold_connections(hidden, f.whole("hc_mult")),
        ),
    )


def _mixer(f: Fields, kind: str, rates: dict[str, int]) -> CompressedAttention:
    head_dim = f.whole("head_dim")
    return CompressedAttention(
        heads=f.whole("num_attention_heads"),
        head_dim=head_dim,
        rope_dim=_rope_dim(f, head_dim),
        window=f.whole("sliding_window"),
        ratio=0 if kind == WINDOW else rates[SPARSE if kind == SPARSE else HEAVY],
        indexer=indexer_of(f, pool=rates[SPARSE]) if kind == SPARSE else None,
    )


def _rope_dim(f: Fields, head_dim: int) -> int:
    """partial_rotary_factor of the head, else qk_rope_head_dim, else the class's 64 of 512."""
    if f.raw("partial_rotary_factor") is None:
        return f.whole("qk_rope_head_dim", head_dim * 64 // 512, minimum=0, maximum=head_dim)
    factor = f.number("partial_rotary_factor", 1.0)
    if not 0 <= factor <= 1:
        raise f.error("partial_rotary_factor", "a number from 0 to 1")
    return int(head_dim * factor)


def _drafts(f: Fields, rates: dict[str, int]) -> tuple[Tower, ...]:
    """Prediction layers attend in the window only and end in a stream collapse and norm of their own.

    With router biases and hash tables this gives the 290,944,616,402 elements of deepseek-ai/DeepSeek-V4-Flash.
    """
    hidden, kind = f.whole("hidden_size"), TensorClass.PREDICTION
    parts = (
        *_layer(f, WINDOW, rates).tensors,
        *linear("e_proj", hidden, hidden, kind),
        *linear("h_proj", hidden, hidden, kind),
        *norm("enorm", hidden),
        *norm("hnorm", hidden),
        *norm("norm", hidden),
        *hyper_head(hidden, f.whole("hc_mult")),
    )
    return prediction_tower(parts, prediction_layers(f))


def _stages(f: Fields, rates: dict[str, int], layers: int) -> tuple[Tower, ...]:
    """DSpark's stages, which attend in the window: the first joins states of the target, the last has a Markov head.

    compress_ratios names them behind the layers. Between checkpoints with and without them lie 13,235,802,092 elements
    (DeepSeek-V4-Flash) and 51,658,262,124 (Pro), router biases of two layers among them.
    Source: sglang/srt/models/deepseek_v4_dspark.py (DSparkV4Stage).
    """
    hidden, rank = f.whole("hidden_size"), f.whole("dspark_markov_rank")
    ratios, taps = f.items("compress_ratios", int), f.items("dspark_target_layer_ids", int)
    if not taps:
        raise f.error("dspark_target_layer_ids", "a list of layers")
    count = len(ratios) - layers if ratios and len(ratios) > layers else len(taps)
    ends = (
        *linear("main_proj", hidden, len(taps) * hidden, TensorClass.PREDICTION),
        *norm("main_norm", hidden),
        *norm("norm", hidden),
        *hyper_head(hidden, f.whole("hc_mult")),
        *small("markov_head.markov_w1", f.whole("vocab_size"), rank),
        *small("markov_head.markov_w2", f.whole("vocab_size"), rank),
        *small("confidence_head", hidden + rank, dtype="fp32"),
    )
    (stages,) = prediction_tower(_layer(f, WINDOW, rates).tensors, count)
    return (
        replace(
            stages, name=DSPARK, tensors=(*stages.tensors, *(replace(t, kind=TensorClass.PREDICTION) for t in ends))
        ),
    )


READERS: dict[str, Callable[[Fields], ModelSpec]] = {
    "deepseek_v4": read_deepseek_v4,
    "deepseek_ref": lambda f: read_deepseek_v4(read_as(f, "deepseek_v4")),
}
