"""Where the decoder of a wrapping config stands, and which level ties its output head."""

from typing import Any

import pytest

from model_catalog.fields import ConfigError
from model_catalog.importers import read_config
from model_catalog.spec import Attention, ModelSpec
from model_catalog.tensors import TensorClass
from sizing.weights.parameters import parameters

SIZES: dict[str, Any] = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 256,
}
LLAMA = {"model_type": "llama", **SIZES}


def head_is_tied(spec: ModelSpec) -> bool:
    heads = [tensor for tensor in spec.tensors if tensor.kind is TensorClass.LM_HEAD]
    assert spec.tied_embeddings == (not heads)
    return spec.tied_embeddings


def test_the_decoder_keeps_its_own_kind_and_the_spec_the_wrapping_type() -> None:
    spec = read_config({"model_type": "llava", "text_config": LLAMA, "vision_config": {}})
    assert (spec.model_type, spec.num_layers, spec.hidden_size) == ("llava", 2, 64)
    assert [tower.name for tower in spec.towers] == ["vision", "vision projector"]


def test_qwen2_vl_in_its_first_form_has_the_decoder_at_the_top() -> None:
    """Qwen/Qwen2-VL-2B-Instruct's file; transformers moves the fields into text_config."""
    flat = read_config({"model_type": "qwen2_vl", **SIZES, "vision_config": {}})
    nested = read_config({"model_type": "qwen2_vl", "text_config": SIZES, "vision_config": {}})
    assert flat == nested


@pytest.mark.parametrize("field", ["language_config", "llm_config", "text_config"])
def test_the_decoder_is_found_in_other_fields(field: str) -> None:
    spec = read_config({"model_type": "some_new_vl", field: LLAMA})
    assert (spec.num_layers, spec.vocab_size) == (2, 256)


def test_a_thinker_is_two_levels_deep() -> None:
    thinker = {"model_type": "qwen2_5_omni_thinker", "text_config": SIZES, "vision_config": {}, "audio_config": {}}
    spec = read_config({"model_type": "qwen2_5_omni", "thinker_config": thinker})
    assert {tower.name for tower in spec.towers} >= {"vision", "audio"}


def test_a_decoder_nested_without_end_is_refused() -> None:
    config: dict[str, Any] = dict(LLAMA)
    for _ in range(30):
        config = {"model_type": "some_new_vl", "text_config": config}
    with pytest.raises(ConfigError, match="nested too deep"):
        read_config(config)


# transformers 5.24.0: Gemma3Config ties by default whatever text_config says; Qwen2VLConfig takes either level's word;
# LlavaNextConfig asks the wrapping level alone; Qwen2-Audio never ties.
TIES: list[tuple[str, bool | None, bool | None, bool]] = [
    ("gemma3", None, False, True),
    ("gemma3", False, True, False),
    ("qwen2_vl", False, True, True),
    ("qwen2_vl", None, None, False),
    ("llava_next", None, True, False),
    ("llava_next", True, False, True),
    ("qwen2_audio", True, True, False),
]


@pytest.mark.parametrize(("model_type", "outer", "inner", "tied"), TIES)
def test_which_level_ties_the_output_head(model_type: str, outer: Any, inner: Any, tied: bool) -> None:
    text = dict(SIZES) if inner is None else {**SIZES, "tie_word_embeddings": inner}
    config = {"model_type": model_type, "text_config": text, "vision_config": {}}
    spec = read_config(config if outer is None else {**config, "tie_word_embeddings": outer})
    assert head_is_tied(spec) is tied


@pytest.mark.parametrize(
    ("model_type", "kv_heads", "hidden"), [("voxtral", 8, 3072), ("glmasr", 4, 2048), ("qwen3_asr", 32, 4096)]
)
def test_a_part_that_its_class_fills_up_with_values_of_its_own(model_type: str, kv_heads: int, hidden: int) -> None:
    """As transformers 5.24.0 builds them on the meta device; Qwen3-ASR's class leaves the rest to Qwen3's defaults."""
    spec = read_config({"model_type": model_type, "text_config": {"num_hidden_layers": 4}})
    (mixer,) = spec.layers[0].layer.mixers
    assert isinstance(mixer, Attention)
    assert (mixer.kv_heads, spec.hidden_size) == (kv_heads, hidden)
    assert not [doubt for doubt in spec.doubts if doubt.touches_kv]


def test_fuyu_projects_pixels() -> None:
    """2,964,075,520 parameters with 4 layers on the meta device."""
    assert parameters(read_config({"model_type": "fuyu", "text_config": {"num_hidden_layers": 4}})) == 2_964_075_520
