"""Audio encoders: Whisper and its descendants, the conformers of Gemma 4 and Granite Speech, Muse's convolutions."""

from dataclasses import replace

from model_catalog.blocks.linear import norm
from model_catalog.blocks.vision import (
    Tensors,
    attention,
    column,
    conv,
    mlp,
    norms,
    plain,
    row,
    table,
    tower,
)
from model_catalog.fields import ConfigError, Fields
from model_catalog.spec import Tower
from model_catalog.tensors import TensorClass
from model_catalog.towers.parts import ratio

AUDIO = TensorClass.AUDIO
MOST_STAGES = 64


def sizes(a: Fields) -> tuple[int, int, int]:
    """Hidden size, feed-forward size, heads (Whisper's d_model, encoder_ffn_dim, encoder_attention_heads)."""
    return a.whole("hidden_size"), a.whole("intermediate_size"), a.whole("num_attention_heads")


def mel_convolutions(a: Fields, hidden: int, prefix: str = "") -> Tensors:
    """Whisper's two convolutions over the mel spectrogram."""
    return (
        *conv(f"{prefix}conv1", hidden, a.whole("num_mel_bins"), 3),
        *conv(f"{prefix}conv2", hidden, hidden, 3),
    )


def whisper_layer(hidden: int, intermediate: int, heads: int) -> Tensors:
    """Whisper's layer: a bias everywhere but on the keys."""
    return (*norms(hidden), *attention(hidden, heads, key_bias=False), *mlp(hidden, intermediate))


def whisper(a: Fields) -> Tower:
    """Whisper's encoder as Qwen2-Audio and Voxtral have it, with its table of positions."""
    hidden, intermediate, heads = sizes(a)
    outside = (
        *mel_convolutions(a, hidden),
        *table("embed_positions.weight", a.whole("max_source_positions"), hidden),
        *norm("layer_norm", hidden, bias=True),
    )
    each = whisper_layer(hidden, intermediate, heads)
    return tower("audio", AUDIO, "audio_tower", outside, (a.layer_count(), each))


def qwen2_5_omni(a: Fields) -> Tower:
    hidden, intermediate, heads = sizes(a)
    out = a.whole("output_dim")
    outside = (
        *mel_convolutions(a, hidden),
        *table("audio_bos_eos_token.weight", 2, out),
        *norm("ln_post", hidden, bias=True),
        *plain("proj", out, hidden),
    )
    each = whisper_layer(hidden, intermediate, heads)
    return tower("audio", AUDIO, "audio_tower", outside, (a.layer_count(), each))


def qwen3_omni(a: Fields) -> Tower:
    hidden, out = a.whole("hidden_size"), a.whole("output_dim")
    return _qwen3_audio(a, (*plain("proj1", hidden, hidden), *plain("proj2", out, hidden)))


def qwen3_asr(a: Fields) -> Tower:
    return _qwen3_audio(a, ())


def _qwen3_audio(a: Fields, after: Tensors) -> Tower:
    """Three convolutions that halve time and frequency; biases everywhere."""
    hidden, intermediate, heads = sizes(a)
    width = a.whole("downsample_hidden_size")
    bins = a.whole("num_mel_bins")
    for _ in range(3):
        bins = (bins + 1) // 2
    outside = (
        *conv("conv2d1", width, 1, 3, 3),
        *conv("conv2d2", width, width, 3, 3),
        *conv("conv2d3", width, width, 3, 3),
        *plain("conv_out", hidden, width * bins, bias=False),
        *norm("ln_post", hidden, bias=True),
        *after,
    )
    each = (*norms(hidden), *attention(hidden, heads), *mlp(hidden, intermediate))
    return tower("audio", AUDIO, "audio_tower", outside, (a.layer_count(), each))


def glm_asr(a: Fields) -> Tower:
    """Whisper's layers with rotary positions; grouped key and value heads where the config says so."""
    hidden, intermediate, heads = sizes(a)
    kv_heads = a.whole("num_key_value_heads", heads)
    outside = (*mel_convolutions(a, hidden), *norm("norm", hidden, bias=True))
    each = (
        *norms(hidden),
        *attention(hidden, heads, head_dim=a.whole("head_dim", hidden // heads), kv_heads=kv_heads, key_bias=False),
        *mlp(hidden, intermediate),
    )
    return tower("audio", AUDIO, "audio_tower", outside, (a.layer_count(), each))


def voxtral_realtime(a: Fields) -> Tower:
    """A causal encoder: RMSNorms, gated feed-forwards with a bias on the last layer only."""
    hidden, intermediate, heads = sizes(a)
    outside = (*mel_convolutions(a, hidden, "embedder."), *norm("norm", hidden))
    each = (
        *norms(hidden, bias=False),
        *attention(hidden, heads, head_dim=a.whole("head_dim", hidden // heads), key_bias=False),
        *column("mlp.gate_proj", intermediate, hidden, bias=False),
        *column("mlp.up_proj", intermediate, hidden, bias=False),
        *row("mlp.down_proj", hidden, intermediate),
    )
    return tower("audio", AUDIO, "audio_tower", outside, (a.layer_count(), each))


def gemma4(a: Fields) -> Tower:
    """A conformer: half feed-forward, attention with relative positions, convolution, half feed-forward."""
    hidden, heads = a.whole("hidden_size"), a.whole("num_attention_heads")
    first, second = _channels(a)
    outside = (
        *conv("subsample_conv_projection.layer0.conv", first, 1, 3, 3, bias=False),
        *norm("subsample_conv_projection.layer0.norm", first),
        *conv("subsample_conv_projection.layer1.conv", second, first, 3, 3, bias=False),
        *norm("subsample_conv_projection.layer1.norm", second),
        *plain("subsample_conv_projection.input_proj_linear", hidden, first // 4 * second, bias=False),
        *plain("output_proj", a.whole("output_proj_dims"), hidden),
    )
    return tower("audio", AUDIO, "audio_tower", outside, (a.layer_count(), _gemma4_layer(a, hidden, heads)))


def _channels(a: Fields) -> tuple[int, int]:
    channels = a.items("subsampling_conv_channels", int, most=2) or []
    if len(channels) != 2 or min(channels) < 1:
        raise a.error("subsampling_conv_channels", "a list of two whole numbers")
    return channels[0], channels[1]


def _gemma4_layer(a: Fields, hidden: int, heads: int) -> Tensors:
    half = tuple(
        tensor
        for name in ("feed_forward1", "feed_forward2")
        for tensor in (
            *mlp(hidden, 4 * hidden, prefix=name, bias=False),
            *norm(f"{name}.pre_layer_norm", hidden),
            *norm(f"{name}.post_layer_norm", hidden),
        )
    )
    return (
        *half,
        *attention(hidden, heads, head_dim=hidden // heads, bias=False),
        *column("self_attn.relative_k_proj", hidden // heads * heads, hidden, bias=False, units=heads),
        *table("self_attn.per_dim_scale", hidden // heads),
        *column("lconv1d.linear_start", 2 * hidden, hidden, bias=False),
        *row("lconv1d.linear_end", hidden, hidden, bias=False),
        *conv("lconv1d.depthwise_conv1d", hidden, 1, a.whole("conv_kernel_size"), bias=False),
        *norm("lconv1d.pre_layer_norm", hidden),
        *norm("lconv1d.conv_norm", hidden),
        *norms(hidden, 3, bias=False),
    )


def muse(a: Fields) -> Tower:
    """Stages of depthwise convolutions over the waveform, each stage coarser and wider than the one before."""
    names = ("patch_sizes", "hidden_sizes", "depths")
    stages = [a.items(name, int, most=MOST_STAGES) or [] for name in names]
    if len({len(stage) for stage in stages}) != 1 or not stages[0] or min(map(min, stages)) < 1:
        raise ConfigError(
            f"{a.path}depths", f"{a.path}patch_sizes, hidden_sizes and depths are not lists of one length."
        )
    last, out = stages[1][-1], a.whole("out_hidden_size")
    blocks: list[tuple[int, Tensors]] = []
    outside: list[Tensors] = []
    before = 1
    for patch, hidden, depth in zip(*stages, strict=True):
        outside.append((*plain("patch_embedder.proj", hidden, before * patch), *norm("patch_embedder.norm", hidden)))
        blocks.append((depth, _muse_block(a, hidden)))
        before = hidden
    ends = (*norm("norm", last), *plain("proj", out, last), *norm("post_proj_norm", out))
    return tower("audio", AUDIO, "audio_tower", (*(t for each in outside for t in each), *ends), *blocks)


def _muse_block(a: Fields, hidden: int) -> Tensors:
    return (
        *conv("conv", hidden, 1, a.whole("conv_kernel_size")),
        *norm("norm", hidden),
        *mlp(hidden, int(hidden * ratio(a, "mlp_ratio", 4))),
    )


def granite_speech(a: Fields) -> Tower:
    """A conformer with relative positions inside blocks, and a head for the characters in its middle."""
    hidden, heads, out = a.whole("hidden_dim"), a.whole("num_heads"), a.whole("output_dim")
    head_dim, inner = a.whole("dim_head", hidden // heads), hidden * a.whole("conv_expansion_factor")
    outside = (
        *plain("input_linear", hidden, a.whole("input_dim")),
        *plain("out", out, hidden),
        *plain("out_mid", hidden, out),
    )
    wide = hidden * a.whole("feedforward_mult")
    half = (*norm("pre_norm", hidden, bias=True), *mlp(hidden, wide, prefix="ff"))
    heads_dim = heads * head_dim
    each = (
        *(replace(tensor, count=2) for tensor in half),
        *norm("attn.pre_norm", hidden, bias=True),
        *column("attn.to_q", heads_dim, hidden, bias=False, units=heads),
        *column("attn.to_k", heads_dim, hidden, bias=False, units=heads),
        *column("attn.to_v", heads_dim, hidden, bias=False, units=heads),
        *row("attn.to_out", hidden, heads_dim, units=heads),
        *table("attn.rel_pos_emb.weight", 2 * a.whole("max_pos_emb") + 1, head_dim),
        *norm("conv.norm", hidden, bias=True),
        *conv("conv.up_conv", 2 * inner, hidden, 1),
        *conv("conv.depth_conv.conv", inner, 1, a.whole("conv_kernel_size"), bias=False),
        *norm("conv.batch_norm", inner, bias=True),
        *conv("conv.down_conv", hidden, inner, 1),
        *norm("post_norm", hidden, bias=True),
    )
    return tower("audio", AUDIO, "encoder", outside, (a.layer_count("num_layers"), each))


READERS = {
    "qwen2_audio_encoder": whisper,
    "audioflamingo3_encoder": whisper,
    "voxtral_encoder": whisper,
    "qwen2_5_omni_audio_encoder": qwen2_5_omni,
    "qwen3_omni_moe_audio_encoder": qwen3_omni,
    "qwen3_asr_encoder": qwen3_asr,
    "glmasr_encoder": glm_asr,
    "voxtral_realtime_encoder": voxtral_realtime,
    "gemma4_audio": gemma4,
    "muse_spark_audio": muse,
    "granite_speech_encoder": granite_speech,
    "granite_speech_plus_encoder": granite_speech,
}
