"""Parameter counts against what model cards say."""

import pytest

from model_catalog.lookup import find_entry
from model_catalog.tensors import TensorClass
from sizing.weights.parameters import active_parameters, parameters, parameters_by_class


@pytest.mark.parametrize(
    ("model_id", "count"),
    [
        ("meta-llama/Llama-3.1-8B-Instruct", 8_030_261_248),
        ("openai/gpt-oss-120b", 116_829_156_672),
        ("deepseek-ai/DeepSeek-V3", 671_026_404_352),  # without the prediction layer, as transformers builds it
        ("google/gemma-2b-it", 2_506_172_416),  # the tied head is counted once
    ],
)
def test_all(model_id: str, count: int) -> None:
    """The Hub's counts."""
    assert parameters(find_entry(model_id).spec) == count


@pytest.mark.parametrize(("model_id", "billions"), [("openai/gpt-oss-120b", 5.13), ("openai/gpt-oss-20b", 3.61)])
def test_active_of_gpt_oss(model_id: str, billions: float) -> None:
    """gpt-oss model card, table 1: active parameters, with the output head and without the embedding."""
    assert round(active_parameters(find_entry(model_id).spec) / 1e9, 2) == billions


def test_active_of_a_dense_model_is_all_but_the_embedding() -> None:
    """Llama-3.1-8B has an embedding of 128,256 × 4,096 apart from its output head; gemma-2b's is both."""
    llama, gemma = (find_entry(name).spec for name in ("meta-llama/Llama-3.1-8B-Instruct", "google/gemma-2b-it"))
    assert active_parameters(llama) == 8_030_261_248 - 128_256 * 4_096
    assert active_parameters(gemma) == 2_506_172_416


def test_classes_of_deepseek_v3() -> None:
    """58 layers of 256 experts of 3 × 7,168 × 2,048; the prediction layer apart."""
    counts = parameters_by_class(find_entry("deepseek-ai/DeepSeek-V3").spec)
    assert counts[TensorClass.EXPERT] == 58 * 256 * 3 * 7_168 * 2_048
    assert sum(counts.values()) - counts[TensorClass.PREDICTION] == 671_026_404_352
