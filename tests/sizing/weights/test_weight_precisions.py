"""Whole models in chosen precisions, against published counts and sizes of checkpoints."""

from dataclasses import replace

import pytest

from model_catalog.lookup import find_entry
from model_catalog.spec import ModelSpec, Quantization
from model_catalog.tensors import TensorClass
from sizing.scenario import ScenarioError
from sizing.weights.packing import PACKED
from sizing.weights.precisions import PRECISIONS, resolve_precision
from sizing.weights.stored import stored_bytes

LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
KIMI_SKIPPED = (
    "re:.*self_attn.*",
    "re:.*shared_experts.*",
    r"re:.*mlp\.(gate|up|gate_up|down)_proj.*",
    "re:.*lm_head.*",
    "re:vision_tower.*",
    "re:mm_projector.*",
)


def spec_of(model_id: str) -> ModelSpec:
    return find_entry(model_id).spec


def total(spec: ModelSpec, precision: str = "auto") -> int:
    return sum(stored_bytes(spec, precision).values())


def test_llama_3_1_8b_as_stored() -> None:
    """8,030,261,248 parameters (the Hub's count) in two bytes each."""
    assert total(spec_of(LLAMA)) == 8_030_261_248 * 2
    assert total(spec_of(LLAMA), "fp32") == 8_030_261_248 * 4


def test_deepseek_v3_in_blocks_of_128() -> None:
    """The Hub's counts by format: F8_E4M3 680,571,043,840, BF16 3,918,786,560, F32 41,555,600.

    They are the 684,531,386,000 that it shows. Of the F32, 59 × 256 are routing biases, not counted here.
    """
    spec = replace(spec_of("deepseek-ai/DeepSeek-V3"), quantization=None)
    assert 680_571_043_840 + 3_918_786_560 + 41_555_600 == 684_531_386_000
    scales = 41_555_600 - 59 * 256
    assert total(spec, "fp8-block") == 680_571_043_840 + 2 * 3_918_786_560 + 4 * scales


@pytest.mark.parametrize(
    ("model_id", "size"), [("openai/gpt-oss-120b", 65_248_815_744), ("openai/gpt-oss-20b", 13_761_264_768)]
)
def test_gpt_oss_in_mxfp4(model_id: str, size: int) -> None:
    """metadata.total_size of the checkpoints' model.safetensors.index.json; 65.2 GB is 60.8 GiB."""
    assert total(spec_of(model_id), "mxfp4") == size


def test_kimi_k2_6_in_groups_of_32() -> None:
    """595,148,192,736 bytes are published; 60 × 384 fp32 routing biases among them are buffers."""
    stored = Quantization(method="int4-group32", skipped=KIMI_SKIPPED)
    spec = replace(spec_of("moonshotai/Kimi-K2.6"), quantization=stored)
    assert total(spec) == 595_148_192_736 - 60 * 384 * 4


@pytest.mark.parametrize(
    ("precision", "rows", "columns", "size"),
    [
        ("fp8", 4096, 11008, 4096 * 11008 + 4096 * 4),
        ("fp8-tensor", 4096, 11008, 4096 * 11008 + 4),
        (
            "fp8-block",
            576,
            7168,
            576 * 7168 + 5 * 56 * 4,
        ),  # DeepSeek-V3 kv_a_proj_with_mqa: weight_scale_inv (5, 56)
        (
            "awq-int4",
            4096,
            4096,
            8_388_608 + 262_144 + 65_536,
        ),  # qweight, scales and qzeros of Llama-2-7B-AWQ
        ("gptq-int4", 4096, 4096, 8_388_608 + 262_144 + 65_536 + 16_384),  # and g_idx
        ("nvfp4", 2048, 7168, 7_340_032 + 917_504 + 8),
        ("mxfp4", 5760, 2880, 8_294_400 + 518_400),  # gpt-oss gate_up_proj of one expert: blocks and scales
        ("bnb-nf4", 4096, 4096, 8_388_608 + 1_048_576),
        ("bnb-int8", 4096, 4096, 16_777_216 + 16_384),
    ],
)
def test_one_matrix(precision: str, rows: int, columns: int, size: int) -> None:
    """Shapes of packed tensors and scales in published checkpoints."""
    assert PACKED[precision].bytes_of(rows, columns) == size


@pytest.mark.parametrize(
    "precision", ["fp8", "fp8-block", "int8", "awq-int4", "gptq-int4", "nvfp4", "mxfp4", "bnb-nf4"]
)
def test_embeddings_head_and_norms_stay_in_16_bits(precision: str) -> None:
    """Llama-3.1-8B: 128,256 × 4,096 twice, 65 norms of 4,096."""
    stored = stored_bytes(spec_of(LLAMA), precision)
    assert stored[TensorClass.EMBEDDING] == stored[TensorClass.LM_HEAD] == 128_256 * 4_096 * 2
    assert stored[TensorClass.NORM] == 65 * 4_096 * 2


def test_a_mixture_in_mxfp4_packs_only_experts() -> None:
    spec = spec_of("Qwen/Qwen3-30B-A3B")
    halves, packed = stored_bytes(spec, "bf16"), stored_bytes(spec, "mxfp4")
    changed = {kind for kind in halves if halves[kind] != packed[kind]}
    assert changed == {TensorClass.EXPERT}
    assert packed[TensorClass.EXPERT] * 32 == halves[TensorClass.EXPERT] // 2 * 17


def test_routers_stay_in_16_bits() -> None:
    """Qwen3-30B-A3B: 48 routers of 128 × 2,048, which Qwen's own FP8 checkpoint skips by name."""
    assert stored_bytes(spec_of("Qwen/Qwen3-30B-A3B"), "fp8-block")[TensorClass.ROUTER] == 48 * 128 * 2_048 * 2


@pytest.mark.parametrize("name", PRECISIONS)
def test_every_precision_has_a_label_a_sentence_and_a_size(name: str) -> None:
    spec = spec_of(LLAMA)
    precision = resolve_precision(name.upper(), spec)
    assert precision.label and precision.kept.endswith(".")
    assert total(spec, name) > 2**30


def test_labels_say_how_it_is_stored() -> None:
    spec = spec_of(LLAMA)
    assert resolve_precision("awq-int4", spec).label == "INT4 AWQ, group 128"
    assert resolve_precision("auto", spec).label == "As stored: BF16"
    assert resolve_precision("Q4_K_M", spec).name == "q4_k_m"


def test_an_unknown_precision_is_a_sentence() -> None:
    with pytest.raises(ScenarioError, match='"int3" is not a precision that is known here') as error:
        stored_bytes(spec_of(LLAMA), "int3")
    assert error.value.field == "weights"


def test_an_unknown_way_of_storing_is_a_sentence() -> None:
    spec = replace(spec_of(LLAMA), quantization=Quantization(method="hqq"))
    with pytest.raises(ScenarioError, match='stored as "hqq"'):
        stored_bytes(spec)


def test_equal_but_different_specs_do_not_share_a_count() -> None:
    """The inventory is kept by identity, so a changed spec must be counted anew."""
    spec = spec_of(LLAMA)
    assert total(replace(spec, layers=spec.layers[:0])) < total(spec)
