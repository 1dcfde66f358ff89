"""Towers against parameter counts that others publish or that transformers 5.24.0 builds on the meta device."""

from typing import Any

import pytest

from model_catalog.fields import ConfigError, Fields
from model_catalog.importers.towers import read_towers
from model_catalog.spec import Tower
from model_catalog.tensors import Shard, TensorClass


def towers(**config: Any) -> tuple[Tower, ...]:
    return read_towers(Fields(config, config["model_type"]))


def elements(found: tuple[Tower, ...]) -> int:
    return sum(tensor.elements for tower in found for tensor in tower.tensors)


# Parameters beside the decoder that the class builds from its own defaults: transformers 5.24.0.
BUILT = {
    "gemma3": 94_654_464,
    "llama4": 455_178_240,
    "mllama": 867_749_395,
    "qwen2_vl": 675_759_104,
    "qwen2_5_vl": 3_083_025_152,
    "qwen3_vl": 566_949_104,
    "qwen3_5": 453_650_672,
    "ernie4_5_vl_moe": 774_658_560,
    "kimi_k25": 471_143_920,
    "minimax_m3_vl": 865_567_232,
    "glm4v": 892_498_432,
    "glm_ocr": 434_120_192,
    "glm5_next": 460_072_448,
    "step3p7": 1_981_014_784,
    "muse_spark": 2_045_977_600,
    "internvl": 337_509_376,
    "idefics2": 819_662_848,
    "idefics3": 171_270_144,
    "lfm2_vl": 107_359_488,
    "qwen2_5_omni_thinker": 3_722_672_384,
    "qwen3_omni_moe_thinker": 1_216_843_888,
    "granite_speech": 383_097_898,
    "video_llama_3": 105_577_728,
}


@pytest.mark.parametrize("model_type", list(BUILT))
def test_the_towers_of_class_defaults(model_type: str) -> None:
    f = Fields({"model_type": model_type, "text_config": {}}, model_type)
    assert elements(read_towers(f)) == BUILT[model_type]
    assert f.doubts == []


def test_phi3_vision_has_the_published_count() -> None:
    """microsoft/Phi-3-vision-128k-instruct: 4,146,621,440 parameters, of which 3,821,079,552 are Phi-3 mini's."""
    found = towers(
        model_type="phi3_v",
        hidden_size=3072,
        img_processor={"name": "clip_vision_model", "model_name": "openai/clip-vit-large-patch14-336"},
    )
    assert elements(found) == 4_146_621_440 - 3_821_079_552


def test_deepseek_vl2_has_the_published_count() -> None:
    """deepseek-ai/deepseek-vl2-tiny: 3,370,501,440 parameters, of which 2,934,734,080 are the decoder's."""
    vision = {"layers": 27, "mlp_ratio": 3.7362, "model_name": "siglip_so400m_patch14_384", "model_type": "vision"}
    found = towers(
        model_type="deepseek_vl_v2",
        language_config={"model_type": "deepseek_v2", "hidden_size": 1280},
        projector_config={"model_type": "mlp_projector", "n_embed": 1280},
        vision_config={**vision, "patch_size": 14, "width": 1152},
    )
    assert elements(found) == 3_370_501_440 - 2_934_734_080


GEMMA4_TEXT = {"model_type": "gemma4_text", "hidden_size": 2560}


def test_gemma4_vision_and_audio() -> None:
    """google/gemma-4-E4B-it, as transformers 5.24.0 builds it: 478,087,456 parameters in both towers."""
    vision = {"hidden_size": 768, "num_hidden_layers": 16, "num_attention_heads": 12, "head_dim": 64}
    audio = {"hidden_size": 1024, "num_hidden_layers": 12, "output_proj_dims": 1536}
    found = towers(model_type="gemma4", text_config=GEMMA4_TEXT, vision_config=vision, audio_config=audio)
    assert [tower.name for tower in found] == ["vision", "vision projector", "audio", "audio projector"]
    assert elements(found) == 478_087_456


def test_gemma4_without_towers() -> None:
    assert towers(model_type="gemma4", text_config=GEMMA4_TEXT, vision_config=None, audio_config=None) == ()


def test_the_class_of_the_tower_is_that_of_the_wrapping_model() -> None:
    """Qwen3-VL's files call the tower "qwen3_vl"; transformers heeds the wrapping class alone."""
    named = towers(model_type="qwen3_vl", vision_config={"model_type": "qwen3_vl"})
    assert elements(named) == BUILT["qwen3_vl"]


def test_sharding_of_the_vision_layers() -> None:
    vision, _ = towers(model_type="llava", vision_config={"model_type": "clip_vision_model"}, text_config={})
    shards = {tensor.name.split(".", 1)[1]: tensor.shard for tensor in vision.tensors}
    assert shards["layers.attn.q_proj.weight"] is Shard.COLUMN
    assert shards["layers.mlp.fc1.bias"] is Shard.COLUMN
    assert shards["layers.attn.proj.weight"] is Shard.ROW
    assert shards["layers.mlp.fc2.weight"] is Shard.ROW
    assert shards["layers.mlp.fc2.bias"] is Shard.REPLICATED
    assert {tensor.kind for tensor in vision.tensors} == {TensorClass.VISION}


def test_a_tower_that_is_not_described_where_the_class_has_its_own_idea_is_doubted() -> None:
    """LLaVA's class builds CLIP ViT-L/14-336 then, not the defaults of CLIP."""
    f = Fields({"text_config": {}}, "llava")
    read_towers(f)
    assert {(doubt.config_field, doubt.touches_kv) for doubt in f.doubts} == {("vision_config", False)}


def test_an_unknown_tower_is_named_and_only_the_weights_are_doubted() -> None:
    f = Fields({"vision_config": {"model_type": "new_vit"}, "text_config": {}}, "llava")
    assert read_towers(f) == ()
    doubt = f.doubts[0]
    assert (doubt.config_field, doubt.touches_kv, doubt.touches_weights) == ("vision_config", False, True)


@pytest.mark.parametrize("size", [0, -1, "336", [336], [336, 0], [1, 2, 3], 10**12])
def test_a_bad_image_size_names_the_field(size: Any) -> None:
    with pytest.raises(ConfigError) as raised:
        towers(model_type="llava", vision_config={"image_size": size}, text_config={})
    assert raised.value.field == "vision_config.image_size"
