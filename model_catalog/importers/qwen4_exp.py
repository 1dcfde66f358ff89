"""Qwen4-Exp: gated delta and sparse attention layers in residual streams, with hashed n-gram embeddings in some."""

from collections.abc import Callable, Iterator
from itertools import count, islice

from model_catalog.blocks.attention import attention
from model_catalog.blocks.linear import linear, norm, small
from model_catalog.fields import ConfigError, Fields
from model_catalog.importers.common import max_context_of
from model_catalog.importers.delta import delta_of, shared_mixture
from model_catalog.importers.hybrid import INDEXED, every_nth_full, softmax, stated_kinds
from model_catalog.layer_kinds import FULL, LINEAR
from model_catalog.spec import Attention, Indexer, Layer, ModelSpec, Recurrent, run_length
from model_catalog.tensors import Shard, Tensor, TensorClass

MOST_NGRAM_HEADS = 1024  # each costs a search for a prime
WITNESSES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)  # decide primality below 3.3e24


def read_qwen4_exp(f: Fields) -> ModelSpec:
    hidden, vocab, tied = f.whole("hidden_size"), f.whole("vocab_size"), f.flag("tie_word_embeddings")
    kinds = stated_kinds(f, f.layer_count(), (INDEXED, FULL, LINEAR), every_nth_full("full_attention_interval", 4))
    tables = _ngram_tables(f, len(kinds))
    head = Tensor("lm_head.weight", TensorClass.LM_HEAD, (vocab, hidden), Shard.VOCAB)
    return ModelSpec(
        model_type=f.model_type,
        layers=run_length([_layer(f, kind, tables.get(index)) for index, kind in enumerate(kinds)]),
        hidden_size=hidden,
        vocab_size=vocab,
        max_context=max_context_of(f),
        dtype="bf16",
        tied_embeddings=tied,
        tensors=(
            Tensor("model.embed_tokens.weight", TensorClass.EMBEDDING, (vocab, hidden), Shard.VOCAB),
            *(() if tied else (head,)),
            *_streams(f, "hyper_connection_mixer", inject=False),
        ),
    )


def _streams(f: Fields, name: str, *, inject: bool) -> tuple[Tensor, ...]:
    """How the residual streams are mixed into one input and where the output goes."""
    width, rank, kind = f.whole("hc_count") * f.whole("hidden_size"), f.whole("hc_lowrank"), TensorClass.SMALL
    return (
        *norm(f"{name}.hc_norm", width),
        *linear(f"{name}.input_mix_weight_down", rank, width, kind),
        *linear(f"{name}.input_mix_weight_up", width, rank, kind),
        *(linear(f"{name}.block_inject_weight", f.whole("hc_count"), width, kind) if inject else ()),
    )


def _layer(f: Fields, kind: str, table_rows: int | None) -> Layer:
    part, weights = shared_mixture(f)
    rest = (
        *weights,
        *_streams(f, "attn_hyper_connection", inject=True),
        *_streams(f, "mlp_hyper_connection", inject=True),
    )
    if kind != LINEAR:
        mixer, tensors = _sparse_attention(f)
        return Layer(mixers=(mixer,), feed_forward=part, tensors=(*tensors, *rest))
    delta = delta_of(f)
    states, ngram = _ngram(f, table_rows) if table_rows is not None else ((), ())
    return Layer(
        mixers=(delta.mixer(), *states),
        feed_forward=part,
        tensors=(*delta.tensors(), *ngram, *rest),
    )


def _sparse_attention(f: Fields) -> tuple[Attention, tuple[Tensor, ...]]:
    """Gated attention; a block of indexer_compress_ratio tokens is chosen by one index key."""
    hidden, bias, plain = f.whole("hidden_size"), f.flag("attention_bias"), softmax(f)
    pool, dim = f.whole("indexer_compress_ratio"), f.whole("indexer_head_dim")
    heads, key_heads = f.whole("indexer_n_heads"), f.whole("indexer_kv_heads")
    f.doubt(
        "indexer_compress_ratio",
        f"One index key for {pool:,} tokens is counted; transformers keeps one for each token.",
        weights=False,
    )
    mixer = Attention(
        heads=plain.heads,
        kv_heads=plain.kv_heads,
        head_dim=plain.head_dim,
        value_dim=plain.value_dim,
        indexer=Indexer(head_dim=dim, heads=heads, top_k=f.whole("indexer_budget"), pool=pool, key_heads=key_heads),
    )
    return mixer, (
        *attention(plain, hidden, qkv_bias=bias, out_bias=bias, qk_norm="head", gated=True),
        *linear("self_attn.indexer.index_qk_proj", (heads + key_heads) * dim, hidden, TensorClass.INDEXER),
        *norm("self_attn.indexer.q_layernorm", dim),
        *norm("self_attn.indexer.k_layernorm", dim),
    )


def _ngram(f: Fields, table_rows: int) -> tuple[tuple[Recurrent, ...], tuple[Tensor, ...]]:
    """An embedding of the last tokens, gated into every stream, and a dilated convolution over it."""
    hidden, dim, size = f.whole("hidden_size"), f.whole("ple_embed_dim", f.whole("hidden_size")), f.whole("ngram_size")
    width, kernel = f.whole("hc_count") * hidden, f.whole("ple_conv_kernel_size")
    states = (
        Recurrent(
            kind="past_inputs",
            heads=0,
            state_elements=0,
            conv_channels=width,
            conv_kernel=(kernel - 1) * size + 1,
        ),
        Recurrent(kind="past_inputs", heads=0, state_elements=0, conv_channels=1, conv_kernel=size, conv_dtype="int64"),
    )
    table = (table_rows, max(dim // _ngram_heads(f), 1))
    return states, (
        Tensor("ple.ple_embedding.ngram_embedding.weight", TensorClass.EMBEDDING, table, Shard.VOCAB),
        *linear("ple.key_proj", width, dim, TensorClass.MIXER),
        *linear("ple.value_proj", hidden, dim, TensorClass.MIXER),
        *norm("ple.norm_key", width),
        *norm("ple.norm_query", width),
        *norm("ple.norm_conv", width),
        *small("ple.conv1d.weight", width, 1, kernel),
    )


def _ngram_heads(f: Fields) -> int:
    return (f.whole("ngram_size", minimum=2) - 1) * f.whole("heads_per_ngram")


def _ngram_tables(f: Fields, layers: int) -> dict[int, int]:
    """Layer index → rows of its n-gram table: a prime for each head, consecutive over all layers, then padded."""
    ids = sorted(set(f.items("ple_layer_ids", int) or ()))
    if not ids:
        return {}
    heads, multiple = _ngram_heads(f), f.whole("make_ngram_vocab_size_divisible_by")
    if ids[0] < 1 or ids[-1] > layers or len(ids) * heads > MOST_NGRAM_HEADS:
        raise ConfigError(
            f"{f.path}ple_layer_ids",
            f"{f.path}ple_layer_ids must name layers from 1 to {layers:,}, "
            f"with at most {MOST_NGRAM_HEADS:,} n-gram heads in all.",
        )
    primes = _primes_from(f.whole("ngram_vocab_size_base"))
    sums = [sum(islice(primes, heads)) for _ in ids]
    return {layer - 1: multiple * -(-rows // multiple) for layer, rows in zip(ids, sums, strict=True)}


def _primes_from(start: int) -> Iterator[int]:
    return (number for number in count(max(start, 2)) if _is_prime(number))


def _is_prime(number: int) -> bool:
    """Miller and Rabin's test, exact for the sizes that a config may state."""
    if any(number % prime == 0 for prime in WITNESSES):
        return number in WITNESSES
    odd = (number - 1) >> (twos := ((number - 1) & -(number - 1)).bit_length() - 1)
    return all(_passes(number, pow(witness, odd, number), twos) for witness in WITNESSES)


def _passes(number: int, power: int, twos: int) -> bool:
    if power in (1, number - 1):
        return True
    for _ in range(twos - 1):
        power = power * power % number
        if power == number - 1:
            return True
    return False


READERS: dict[str, Callable[[Fields], ModelSpec]] = {"qwen4_exp_text": read_qwen4_exp}
