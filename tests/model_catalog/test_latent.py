"""Latent and compressed attention against published element counts, cache sizes and the classes' own rules."""

from typing import Any

import pytest

from model_catalog.fields import ConfigError
from model_catalog.importers import read_config
from model_catalog.spec import CompressedAttention, LatentAttention, Layer, ModelSpec
from model_catalog.tensors import Tensor

V3 = {"model_type": "deepseek_v3", "num_nextn_predict_layers": 1}  # the class's defaults are DeepSeek-V3's
V32 = {"model_type": "deepseek_v32"}
GLM5 = {"model_type": "glm_moe_dsa", "num_nextn_predict_layers": 1}
GLM52 = {**GLM5, "index_topk_freq": 4, "index_skip_topk_offset": 3}
GLM47_FLASH = {"model_type": "glm4_moe_lite", "num_nextn_predict_layers": 1}
V4_FLASH = {
    "model_type": "deepseek_v4",
    "num_nextn_predict_layers": 1,
    "compress_ratios": [0, 0] + [4, 128] * 20 + [4, 0],
    "qk_rope_head_dim": 64,
}


def elements(tensors: tuple[Tensor, ...]) -> int:
    return sum(tensor.elements for tensor in tensors)


def decoder_elements(spec: ModelSpec) -> int:
    return elements(spec.tensors) + sum(run.count * elements(run.layer.tensors) for run in spec.layers)


def all_elements(spec: ModelSpec) -> int:
    return decoder_elements(spec) + sum(elements(tower.tensors) for tower in spec.towers)


def latent(layer: Layer) -> LatentAttention:
    (mixer,) = layer.mixers
    assert isinstance(mixer, LatentAttention)
    return mixer


def compressed(layer: Layer) -> CompressedAttention:
    (mixer,) = layer.mixers
    assert isinstance(mixer, CompressedAttention)
    return mixer


# Elements that the safetensors files of the repositories hold (Hugging Face API, safetensors.total), less the router
# biases and hash tables, which are buffers: 256 or so numbers for each mixture, prediction layers included.
@pytest.mark.parametrize(
    ("config", "total"),
    [
        pytest.param(V3, 684_489_845_504 - 59 * 256, id="DeepSeek-R1"),
        pytest.param(GLM5, 753_864_139_008 - 76 * 256, id="GLM-5"),
        pytest.param(GLM52, 753_329_940_480 - 76 * 256, id="GLM-5.2, which has 57 indexers less"),
        pytest.param(GLM47_FLASH, 31_221_488_576 - 47 * 64, id="GLM-4.7-Flash"),
        pytest.param(V4_FLASH, 290_944_616_402 - 41 * 256 - 3 * 129_280 * 6, id="DeepSeek-V4-Flash"),
    ],
)
def test_elements_of_published_checkpoints(config: dict[str, Any], total: int) -> None:
    spec = read_config(config)
    assert all_elements(spec) == total
    assert not spec.doubts


def test_deepseek_v3_stores_576_numbers_a_token_and_layer() -> None:
    """arXiv 2412.19437: kv_lora_rank 512 and a rotary key of 64, 61 layers; 70,272 bytes a token in bf16."""
    spec = read_config(V3)
    per_token = sum(latent(layer).latent_dim + latent(layer).rope_dim for layer in spec.each_layer())
    assert 2 * per_token == 70_272
    assert [latent(layer).indexer for layer in spec.each_layer()] == [None] * 61


def test_first_layers_are_dense() -> None:
    parts = [layer.feed_forward for layer in read_config(V3).each_layer()]
    assert [part.experts for part in parts if part] == [0] * 3 + [256] * 58


def test_every_layer_of_deepseek_v32_owns_an_indexer() -> None:
    owners = [latent(layer).indexer for layer in read_config(V32).each_layer()]
    assert len(owners) == 61
    assert all(indexer and indexer.head_dim == 128 for indexer in owners)


def test_glm_52_has_21_indexers_for_78_layers() -> None:
    """vLLM 0.33 gives 21 of GLM-5.2's 78 layers an indexer cache."""
    assert sum(latent(layer).indexer is not None for layer in read_config(GLM52).each_layer()) == 21


def test_indexer_pattern_wins_over_frequency() -> None:
    config = {**GLM5, "num_hidden_layers": 4, "index_topk_pattern": "FSSF", "index_topk_freq": 2}
    owners = [latent(layer).indexer is not None for layer in read_config(config).each_layer()]
    assert owners == [True, False, False, True]


@pytest.mark.parametrize("pattern", ["FS", "FSXF", 7, ["F", 1, "S", "S"]])
def test_bad_indexer_pattern_names_its_field(pattern: object) -> None:
    with pytest.raises(ConfigError, match="index_topk_pattern"):
        read_config({**GLM5, "num_hidden_layers": 4, "index_topk_pattern": pattern})


def test_layer_lists_of_the_wrong_length_name_their_field() -> None:
    with pytest.raises(ConfigError, match="mlp_layer_types names 2 layers"):
        read_config({**GLM5, "num_hidden_layers": 3, "mlp_layer_types": ["dense", "sparse"]})


def test_a_window_that_the_class_does_not_know_is_doubted() -> None:
    spec = read_config({**V3, "sliding_window": 4096})
    assert [doubt.config_field for doubt in spec.doubts if doubt.touches_kv] == ["sliding_window"]


def test_deepseek_v4_flash_has_21_sparse_20_heavy_and_2_window_layers() -> None:
    mixers = [compressed(layer) for layer in read_config(V4_FLASH).each_layer()]
    kinds = [(mixer.ratio, mixer.indexer is not None) for mixer in mixers]
    assert {kind: kinds.count(kind) for kind in kinds} == {(0, False): 2, (4, True): 21, (128, False): 20}
    assert all((mixer.head_dim, mixer.rope_dim, mixer.window) == (512, 64, 128) for mixer in mixers)


def test_deepseek_v4_bytes_a_token_in_vllm_format() -> None:
    """584 bytes an entry and 132 an index key: 3,850 bytes a token beside the windows (C4 and C128 layers)."""
    entries, keys = 0.0, 0.0
    for mixer in map(compressed, read_config(V4_FLASH).each_layer()):
        entries += 1 / mixer.ratio if mixer.ratio else 0
        keys += 1 / mixer.indexer.pool if mixer.indexer else 0
    assert int(584 * entries + 132 * keys) == 3_850


def test_a_compression_ratio_without_meaning_is_doubted() -> None:
    spec = read_config({"model_type": "deepseek_v4", "num_hidden_layers": 2, "compress_ratios": [16, 128]})
    assert any(doubt.touches_kv for doubt in spec.doubts)


def test_longcat_attends_twice_a_layer() -> None:
    """LongCat-Flash: 28 layers with two attentions each (arXiv 2509.01322)."""
    spec = read_config({"model_type": "longcat_flash"})
    assert spec.num_layers == 28
    assert {len(layer.mixers) for layer in spec.each_layer()} == {2}


def test_mistral_large_4_reads_other_layers_latents() -> None:
    config = {
        "model_type": "mistral_large4_text",
        "num_hidden_layers": 4,
        "kv_source_layers": [0, 0, 2, 2],
        "index_topk_pattern": "FFFS",
    }
    mixers = [latent(layer) for layer in read_config(config).each_layer()]
    assert [mixer.reuses_cache for mixer in mixers] == [False, True, False, True]
    assert [mixer.indexer is not None for mixer in mixers] == [True, True, True, False]
    assert [mixer.rope_dim for mixer in mixers] == [64, 64, 64, 0]
    with pytest.raises(ConfigError, match="kv_source_layers"):
        read_config({**config, "kv_source_layers": [0, 2, 2, 2]})


def test_dots_3_windows_have_latents_of_their_own() -> None:
    spec = read_config({"model_type": "dots3_note_text", "num_hidden_layers": 6})
    mixers = [latent(layer) for layer in spec.each_layer()]
    assert [mixer.window for mixer in mixers] == [None, None, 512, 512, 512, None]
    assert [mixer.latent_dim for mixer in mixers] == [512, 512, 1024, 1024, 1024, 512]
    assert {mixer.indexer.key_dtype for mixer in mixers if mixer.indexer} == {"fp32"}


def test_glm_53_flash_pools_16_index_keys_in_every_fourth_layer() -> None:
    mixers = [layer.mixers[0] for layer in read_config({"model_type": "glm5_next_text"}).each_layer()]
    sparse = [mixer for mixer in mixers if isinstance(mixer, LatentAttention)]
    assert (len(sparse), len(mixers)) == (11, 45)
    assert {mixer.indexer.pool for mixer in sparse if mixer.indexer} == {16}
    assert {mixer.rope_dim for mixer in sparse} == {0}


def test_deepseek_vl2_switches_latents_off() -> None:
    """DeepSeek-VL2-Tiny's language_config: use_mla false, 10 heads of 128, 12 layers."""
    language = {
        "model_type": "deepseek_v2",
        "use_mla": False,
        "kv_lora_rank": None,
        "q_lora_rank": None,
        "first_k_dense_replace": 1,
        "hidden_size": 1280,
        "intermediate_size": 6848,
        "moe_intermediate_size": 896,
        "num_attention_heads": 10,
        "num_experts_per_tok": 6,
        "num_hidden_layers": 12,
        "num_key_value_heads": 10,
        "vocab_size": 129280,
    }
    spec = read_config({"model_type": "deepseek_vl_v2", "language_config": language})
    (mixer,) = next(spec.each_layer()).mixers
    assert not isinstance(mixer, LatentAttention)
    assert spec.num_layers == 12
