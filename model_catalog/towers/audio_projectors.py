"""What stands between an audio tower and the decoder, by the wrapping model's type."""

from dataclasses import replace

from model_catalog.blocks.linear import norm
from model_catalog.blocks.vision import Tensors, attention, mlp, norms, plain, table
from model_catalog.fields import Fields
from model_catalog.towers.projectors import Projector, gemma4, nothing, perceptron, width


def qwen2_audio(f: Fields, a: Fields, text: Fields) -> Tensors:
    return plain("linear", width(text), a.whole("hidden_size"))


def qwen3_asr(f: Fields, a: Fields, text: Fields) -> Tensors:
    return perceptron(a.whole("hidden_size"), a.whole("hidden_size"), a.whole("output_dim"))


def voxtral(f: Fields, a: Fields, text: Fields) -> Tensors:
    return perceptron(a.whole("intermediate_size"), width(text), width(text), bias=False)


def voxtral_realtime(f: Fields, a: Fields, text: Fields) -> Tensors:
    into = a.whole("hidden_size") * f.whole("downsample_factor", 4)
    return perceptron(into, width(text), width(text), bias=False)


def glm_asr(f: Fields, a: Fields, text: Fields) -> Tensors:
    return perceptron(a.whole("intermediate_size"), 2 * width(text), width(text))


def granite_speech(f: Fields, a: Fields, text: Fields) -> Tensors:
    """A Q-Former: learned queries of one window attend to the audio in every cross_attention_frequency-th layer."""
    q = f.part("projector_config")
    if q is None:
        raise f.error("projector_config", "an object")
    if q.flag("use_qformer_text_input"):
        q.doubt("use_qformer_text_input", "The part of the Q-Former that reads text is not counted.", kv=False)
    hidden, heads = q.whole("hidden_size"), q.whole("num_attention_heads")
    layers, every = q.layer_count(), q.whole("cross_attention_frequency", 2)
    own = (*attention(hidden, heads), *mlp(hidden, q.whole("intermediate_size")), *norms(hidden, bias=True))
    crossing = (
        *attention(hidden, heads, prefix="crossattention", source=q.whole("encoder_hidden_size")),
        *norm("crossattention.norm", hidden, bias=True),
    )
    return (
        *table("query", max(1, f.whole("window_size") // f.whole("downsample_rate")), hidden),
        *norm("qformer.layernorm", hidden, bias=True),
        *(replace(tensor, count=layers) for tensor in own),
        *(replace(tensor, count=-(-layers // every)) for tensor in crossing),
        *plain("linear", width(text), hidden),
    )


AUDIO: dict[str, Projector] = {
    "gemma4": gemma4,
    "qwen2_audio": qwen2_audio,
    "qwen3_asr": qwen3_asr,
    "voxtral": voxtral,
    "voxtral_realtime": voxtral_realtime,
    "glmasr": glm_asr,
    "granite_speech": granite_speech,
    "granite_speech_plus": granite_speech,
    **dict.fromkeys(("qwen2_5_omni_thinker", "qwen3_omni_moe_thinker", "muse_spark"), nothing),
}
