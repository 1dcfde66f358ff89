"""Checkpoints that draft for others: element counts as the Hub lists them, and who is told what is not known."""

from typing import Any

import pytest

from model_catalog.fields import ConfigError
from model_catalog.importers import read_config
from model_catalog.lookup import DATA, drafts_for, entry_ids, find_entry
from model_catalog.spec import Attention, LatentAttention, ModelSpec
from model_catalog.tensors import TensorClass
from tests.model_catalog.test_entries import raw_entries

DRAFTS = raw_entries(DATA / "drafts.json")
ENDS = (TensorClass.EMBEDDING, TensorClass.LM_HEAD)
EAGLE3 = {
    "architectures": ["LlamaForCausalLMEagle3"],
    "model_type": "llama",
    "num_hidden_layers": 1,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 256,
    "draft_vocab_size": 64,
}
DFLASH = {
    **EAGLE3,
    "architectures": ["DFlashDraftModel"],
    "model_type": "qwen3",
    "draft_vocab_size": None,
    "num_hidden_layers": 2,
    "dflash_config": {"target_layer_ids": [1, 3]},
}


def elements(spec: ModelSpec, *, ends: bool = True) -> int:
    tensors = [*spec.tensors, *(tensor for layer in spec.each_layer() for tensor in layer.tensors)]
    return sum(tensor.elements for tensor in tensors if ends or tensor.kind not in ENDS)


def names(spec: ModelSpec) -> set[str]:
    return {tensor.name for tensor in spec.tensors}


@pytest.mark.parametrize("entry", DRAFTS, ids=lambda entry: entry["id"])
def test_published_counts(entry: dict[str, Any]) -> None:
    """A file holds the decoder, its ends or not (an engine shares those), and a table of the tokens left out."""
    spec, published = find_entry(entry["id"]).spec, entry.get("checkpoint", {}).get("parameters")
    if published is None:
        assert spec.doubts
        return
    buffers = spec.num_layers if spec.draft_kind == "assistant" else 0  # a scale of each layer is stored
    rest = published - buffers - elements(spec, ends=False)
    end = spec.vocab_size * spec.hidden_size
    pruned = entry["config"].get("draft_vocab_size")
    full = end + pruned * spec.hidden_size + spec.vocab_size if pruned else 0
    assert rest in (0, end, 2 * end, full)


def test_a_head_of_laguna_has_the_size_that_is_printed() -> None:
    """The checkpoint size: 2.08 GiB, by vLLM 0.25.1; no layer is bounded by its window."""
    spec = find_entry("poolside/Laguna-S-2.1-DFlash").spec
    assert f"{elements(spec, ends=False) * 2 / 2**30:.2f}" == "2.08"
    mixers = [mixer for layer in spec.each_layer() for mixer in layer.mixers]
    assert [getattr(mixer, "window", 0) for mixer in mixers] == [None] * 6
    assert any(t.name.startswith("model.aux_hidden_norms") and t.count == 6 for t in spec.tensors)


def test_entries_of_drafts_are_found_and_not_listed() -> None:
    assert not {entry["id"] for entry in DRAFTS} & set(entry_ids())
    assert all(find_entry(entry["id"].upper()).spec.draft_kind for entry in DRAFTS)
    assert "RedHatAI/Qwen3-8B-speculator.eagle3" in drafts_for("Qwen/Qwen3-8B")
    assert drafts_for("Qwen/Qwen3-0.6B") == ()


def test_eagle3_reads_three_states_and_two_vectors() -> None:
    spec = read_config(EAGLE3)
    shapes = {t.name: t.shape for t in (*spec.tensors, *spec.layers[0].layer.tensors)}
    assert spec.draft_kind == "eagle3"
    assert shapes["model.fc.weight"] == (64, 3 * 64)
    assert shapes["self_attn.k_proj.weight"] == (32, 2 * 64)
    assert shapes["self_attn.o_proj.weight"] == (64, 64)
    assert shapes["lm_head.weight"] == (64, 64)
    assert spec.doubts == ()


def test_heads_of_eagles_authors_are_known_by_their_vocabulary() -> None:
    assert read_config({**EAGLE3, "architectures": ["LlamaForCausalLM"]}).draft_kind == "eagle3"
    assert read_config({**EAGLE3, "architectures": ["LlamaForCausalLM"], "num_hidden_layers": 2}).draft_kind is None


def test_a_head_may_be_written_in_parts() -> None:
    """The files of vllm-project/speculators name no model_type beside that of the layer."""
    layer = {name: value for name, value in EAGLE3.items() if name not in ("architectures", "draft_vocab_size")}
    spec = read_config(
        {
            "architectures": ["Eagle3Speculator"],
            "speculators_model_type": "eagle3",
            "draft_vocab_size": 64,
            "transformer_layer_config": layer,
        }
    )
    assert elements(spec) == elements(read_config(EAGLE3))


def test_an_eagle3_head_that_joins_nothing() -> None:
    spec = read_config({**EAGLE3, "eagle_config": {"use_aux_hidden_state": False}})
    assert "model.fc.weight" not in names(spec)


def test_latent_heads_keep_latents() -> None:
    (mixer,) = find_entry("nvidia/Kimi-K2.6-Eagle3").spec.layers[0].layer.mixers
    assert isinstance(mixer, LatentAttention)


def test_eagle_joins_two_vectors_and_has_no_last_norm() -> None:
    spec = read_config({**EAGLE3, "architectures": ["EagleLlamaForCausalLM"]})
    assert {t.name: t.shape for t in spec.tensors}["model.fc.weight"] == (64, 128)
    assert "model.norm.weight" not in names(spec)


def test_windows_of_a_block_head() -> None:
    def windows(**method: Any) -> set[int | None]:
        config = {**DFLASH, "dflash_config": {**DFLASH["dflash_config"], **method}}  # type: ignore[dict-item]
        mixers = [mixer for layer in read_config(config).each_layer() for mixer in layer.mixers]
        return {mixer.window for mixer in mixers if isinstance(mixer, Attention)}

    assert windows() == {None}
    assert windows(use_swa=True, swa_window_size=1024) == {1024}
    with pytest.raises(ConfigError, match="swa_window_size"):
        windows(use_swa=True, swa_window_size="wide")


def test_what_is_not_known_of_a_block_head_is_told() -> None:
    assert read_config(DFLASH).doubts == ()
    (taps,) = read_config({**DFLASH, "dflash_config": {}}).doubts
    assert taps.touches_weights and not taps.touches_kv
    (second,) = read_config({**DFLASH, "architectures": ["DFlash2DraftModel"]}).doubts
    assert "selector" in second.message


def test_dspark_adds_a_markov_head() -> None:
    spark = {**DFLASH, "architectures": ["DSparkDraftModel"], "markov_rank": 8}
    added = elements(read_config(spark)) - elements(read_config(DFLASH))
    assert added == 2 * 256 * 8
    with pytest.raises(ConfigError, match="markov_rank"):
        read_config({**spark, "markov_rank": None})


def test_medusa_heads() -> None:
    """Medusa, section 2.1: a residual layer of d × d and an output head of V × d each."""
    spec = read_config(
        {
            "medusa_num_heads": 5,
            "medusa_num_layers": 1,
            "hidden_size": 4096,
            "vocab_size": 32000,
            "model_type": "medusa",
        }
    )
    assert elements(spec) == 5 * (4096 * 4096 + 32000 * 4096)
    old = read_config({"medusa_num_heads": 5, "medusa_num_layers": 1})
    assert {doubt.config_field for doubt in old.doubts} == {"hidden_size", "vocab_size"}


def test_mlp_speculator_stages() -> None:
    config = {"model_type": "mlp_speculator", "vocab_size": 32000, "emb_dim": 4096, "inner_dim": 2048, "n_predict": 3}
    stage = 2 * 32000 * 2048 + 2 * 2048
    assert elements(read_config(config)) == 3 * stage + 2048 * (4096 + 2 * 2048)
    assert elements(read_config({**config, "tie_weights": True})) == stage + 2048 * (4096 + 2048)
