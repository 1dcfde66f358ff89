"""Encoder-decoder models against published element counts and the cross-attention caches that engines allocate."""

from typing import Any

import pytest

from model_catalog.fields import ConfigError
from model_catalog.importers import read_config
from model_catalog.lookup import find_entry
from model_catalog.spec import Attention, CrossAttention, ModelSpec
from model_catalog.tensors import Tensor, TensorClass

WHISPER_LARGE = {
    "model_type": "whisper",
    "d_model": 1280,
    "encoder_layers": 32,
    "decoder_layers": 32,
    "encoder_attention_heads": 20,
    "decoder_attention_heads": 20,
    "encoder_ffn_dim": 5120,
    "decoder_ffn_dim": 5120,
    "num_mel_bins": 128,
    "vocab_size": 51_866,
}
FLAN_T5_BASE = {
    "model_type": "t5",
    "d_model": 768,
    "d_ff": 2048,
    "num_layers": 12,
    "num_heads": 12,
    "feed_forward_proj": "gated-gelu",
}


def elements(tensors: tuple[Tensor, ...]) -> int:
    return sum(tensor.elements for tensor in tensors)


def all_elements(spec: ModelSpec) -> int:
    layers = sum(run.count * elements(run.layer.tensors) for run in spec.layers)
    return elements(spec.tensors) + layers + sum(elements(tower.tensors) for tower in spec.towers)


def crossing(spec: ModelSpec) -> list[CrossAttention]:
    return [mixer for layer in spec.each_layer() for mixer in layer.mixers if isinstance(mixer, CrossAttention)]


@pytest.mark.parametrize(
    ("config", "total"),
    [
        # safetensors.total of google/flan-t5-base, less the output head that its file keeps apart
        pytest.param(FLAN_T5_BASE, 247_577_856 - 32_128 * 768, id="flan-t5-base"),
        pytest.param({"model_type": "t5"}, 60_506_624, id="t5-small"),
        pytest.param({"model_type": "t5gemma"}, 5_596_853_760, id="t5gemma-2b-2b-ul2"),
        pytest.param({"model_type": "bart"}, 406_291_456, id="bart-large"),
        pytest.param({"model_type": "whisper"}, 37_760_640, id="whisper-tiny"),
        pytest.param(WHISPER_LARGE, 1_543_490_560, id="whisper-large-v3"),
    ],
)
def test_encoder_and_decoder_have_the_published_number_of_elements(config: dict[str, Any], total: int) -> None:
    assert all_elements(read_config(config)) == total


def test_whisper_large_keeps_245760000_bytes_of_its_encoder_output() -> None:
    """163,840 bytes a token and 1,500 tokens: what vLLM 0.33 plans, in 16 bit."""
    spec = read_config(WHISPER_LARGE)
    sizes = [2 * m.kv_heads * (m.head_dim + m.value_dim) * m.source_tokens for m in crossing(spec)]
    assert sum(sizes) == 163_840 * 1500 == 245_760_000
    assert not spec.doubts
    assert spec.max_context == 448


def test_every_decoder_layer_has_two_attentions_and_the_encoder_is_a_tower() -> None:
    spec = read_config({"model_type": "t5", "num_layers": 3, "num_decoder_layers": 5})
    assert [tuple(type(mixer) for mixer in layer.mixers) for layer in spec.each_layer()] == [
        (Attention, CrossAttention)
    ] * 5
    (encoder,) = spec.towers
    assert (encoder.name, encoder.layers) == ("encoder", 3)
    assert {tensor.kind for tensor in encoder.tensors} == {TensorClass.ENCODER}


def test_the_length_of_a_text_source_is_assumed_and_said() -> None:
    spec = read_config({"model_type": "t5"})
    assert {mixer.source_tokens for mixer in crossing(spec)} == {512}
    assert [(doubt.touches_kv, doubt.touches_weights) for doubt in spec.doubts] == [(True, False)]
    assert {mixer.source_tokens for mixer in crossing(read_config({"model_type": "bart"}))} == {1024}


def test_llama_32_vision_looks_at_one_image_of_four_tiles_in_eight_layers() -> None:
    spec = read_config(find_entry("meta-llama/Llama-3.2-11B-Vision-Instruct").config)
    assert [i for i, layer in enumerate(spec.each_layer()) if isinstance(layer.mixers[0], CrossAttention)] == [
        3, 8, 13, 18, 23, 28, 33, 38,
    ]  # fmt: skip
    assert {mixer.source_tokens for mixer in crossing(spec)} == {4 * (40 * 40 + 1)}
    assert all(len(layer.mixers) == 1 for layer in spec.each_layer())


def test_t5gemma_windows_its_own_tokens_and_not_the_source() -> None:
    decoder = {"num_hidden_layers": 3, "sliding_window": 99}
    spec = read_config({"model_type": "t5gemma", "decoder": decoder})
    own = [layer.mixers[0] for layer in spec.each_layer()]
    assert [mixer.window for mixer in own if isinstance(mixer, Attention)] == [99, None, 99]


def test_heads_that_do_not_divide_the_width_are_an_error_at_the_field() -> None:
    with pytest.raises(ConfigError) as error:
        read_config({"model_type": "bart", "decoder_attention_heads": 7})
    assert error.value.field == "decoder_attention_heads"
