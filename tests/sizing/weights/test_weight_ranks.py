"""What each rank holds, on whole models."""

from dataclasses import replace

import pytest

from model_catalog.lookup import find_entry
from model_catalog.spec import ModelSpec, Quantization
from model_catalog.tensors import TensorClass
from sizing.placement import Placement, PlacementError
from sizing.weights.ranks import WITHOUT_PREDICTION, rank_bytes
from sizing.weights.stored import stored_bytes

VLLM_VOCABULARY = 64


def spec_of(model_id: str) -> ModelSpec:
    return find_entry(model_id).spec


def held(spec: ModelSpec, precision: str = "bf16", **sizes: int | bool) -> list[int]:
    """Bytes of each stage as vLLM loads them."""
    placement = Placement(**sizes)  # type: ignore[arg-type]
    stages = rank_bytes(spec, precision, placement, include=WITHOUT_PREDICTION, vocab_multiple=VLLM_VOCABULARY)
    return [sum(stage.values()) for stage in stages]


def test_yi_34b_on_one_and_eight_ranks() -> None:
    """Parameter bytes of vLLM 0.33's own model class (meta weights): 68,777,834,496 and 8,598,747,136."""
    spec = spec_of("01-ai/Yi-34B")
    assert held(spec) == [68_777_834_496]
    assert held(spec, tensor_parallel=8) == [8_598_747_136]


def test_fewer_kv_heads_than_ranks_are_copied() -> None:
    """Llama-3.1-8B on 16 ranks: 8 KV heads, one whole head a rank; 2 × 32 × 128 × 4,096 × 2 bytes."""
    stage = rank_bytes(spec_of("meta-llama/Llama-3.1-8B-Instruct"), "bf16", Placement(tensor_parallel=16))[0]
    query_and_output = 2 * 32 * 4_096 * 4_096 * 2 // 16
    assert stage[TensorClass.ATTENTION] == query_and_output + 2 * 32 * 128 * 4_096 * 2


def test_experts_whole_or_sliced() -> None:
    """Qwen3-30B-A3B: 128 experts over 8 ranks are 16 whole ones or an eighth of each, the same bytes."""
    spec = spec_of("Qwen/Qwen3-30B-A3B")
    sliced = rank_bytes(spec, "bf16", Placement(tensor_parallel=8))[0][TensorClass.EXPERT]
    whole = rank_bytes(spec, "bf16", Placement(tensor_parallel=8, expert_parallel=True))[0][TensorClass.EXPERT]
    assert sliced == whole == 16 * 48 * 3 * 768 * 2_048 * 2


def test_the_fullest_expert_rank_holds_the_remainder() -> None:
    """128 experts over 3 × 2 ranks: 22 on the first two, as vLLM's E // ep + (rank < E mod ep)."""
    spec = spec_of("Qwen/Qwen3-30B-A3B")
    placement = Placement(tensor_parallel=2, data_parallel=3, expert_parallel=True)
    assert rank_bytes(spec, "bf16", placement)[0][TensorClass.EXPERT] == 22 * 48 * 3 * 768 * 2_048 * 2


def test_data_parallel_ranks_share_the_experts() -> None:
    """vLLM flattens data and tensor ranks for experts, and repeats the rest in each data rank."""
    spec = spec_of("Qwen/Qwen3-30B-A3B")
    one, four = (rank_bytes(spec, "bf16", Placement(data_parallel=n))[0] for n in (1, 4))
    assert four[TensorClass.EXPERT] * 4 == one[TensorClass.EXPERT]
    assert four[TensorClass.ATTENTION] == one[TensorClass.ATTENTION]


def test_attention_under_data_parallel_attention() -> None:
    """SGLang: attention over tp / dp ranks."""
    spec = spec_of("deepseek-ai/DeepSeek-V3")
    plain = rank_bytes(spec, "bf16", Placement(tensor_parallel=2))[0]
    data = rank_bytes(spec, "bf16", Placement(tensor_parallel=8, data_parallel=4, dp_attention=True))[0]
    assert data[TensorClass.ATTENTION] == plain[TensorClass.ATTENTION]
    assert data[TensorClass.FEED_FORWARD] * 4 == plain[TensorClass.FEED_FORWARD]


def test_a_tied_embedding_is_on_the_first_and_the_last_stage() -> None:
    """Llama-3.2-3B, 28 layers, 128,256 × 3,072 embedding."""
    spec = spec_of("meta-llama/Llama-3.2-3B")
    stages = rank_bytes(spec, "bf16", Placement(pipeline_parallel=4))
    embedding = 128_256 * 3_072 * 2
    assert [stage.get(TensorClass.EMBEDDING, 0) for stage in stages] == [embedding, 0, 0, embedding]
    assert sum(sum(stage.values()) for stage in stages) == 6_425_499_648 + embedding
    assert rank_bytes(spec, "bf16", Placement())[0] == stored_bytes(spec, "bf16")


def test_stages_of_an_untied_model_add_up() -> None:
    """DeepSeek-V3's 61 layers are 15, 15, 16 and 15; the prediction layer is on the last stage."""
    spec = spec_of("deepseek-ai/DeepSeek-V3")
    stages = rank_bytes(spec, "bf16", Placement(pipeline_parallel=4))
    assert sum(sum(stage.values()) for stage in stages) == sum(stored_bytes(spec, "bf16").values())
    assert [TensorClass.PREDICTION in stage for stage in stages] == [False, False, False, True]
    assert [stage[TensorClass.ROUTER] for stage in stages] == [n * 256 * 7_168 * 2 for n in (12, 15, 16, 15)]


def test_the_vocabulary_is_padded_before_it_is_divided() -> None:
    """Granite-3.1-1b: 49,155 rows are 49,216 in vLLM, 12,304 on each of four ranks."""
    spec = spec_of("ibm-granite/granite-3.1-1b-a400m-instruct")
    placement = Placement(tensor_parallel=4)
    padded = rank_bytes(spec, "bf16", placement, vocab_multiple=VLLM_VOCABULARY)[0][TensorClass.EMBEDDING]
    plain = rank_bytes(spec, "bf16", placement)[0][TensorClass.EMBEDDING]
    assert padded == 12_304 * 1_024 * 2
    assert plain == 12_289 * 1_024 * 2


@pytest.mark.parametrize(("ranks", "size"), [(1, 673_150_611_808), (8, 85_140_130_848)])
def test_deepseek_v3_blocks_on_ranks(ranks: int, size: int) -> None:
    """vLLM 0.33's own model class, less its 58 × 256 fp32 routing biases."""
    spec = replace(spec_of("deepseek-ai/DeepSeek-V3"), quantization=Quantization(method="fp8-block"))
    assert held(spec, "auto", tensor_parallel=ranks) == [size - 58 * 256 * 4]


@pytest.mark.parametrize(("ranks", "size"), [(4, 7_818_135_936), (8, 3_945_064_832)])
def test_expert_slices_that_fill_no_block(ranks: int, size: int) -> None:
    """Qwen3-30B-A3B-FP8 in vLLM 0.33, less 96 cache scales: slices of 192 and 96 in blocks of 64 and 32."""
    assert held(spec_of("Qwen/Qwen3-30B-A3B-FP8"), "auto", tensor_parallel=ranks) == [size - 96 * 4]


def test_shared_experts_that_every_rank_holds_whole() -> None:
    """DeepSeek-V3, 58 shared experts of 3 × 7,168 × 2,048."""
    spec = spec_of("deepseek-ai/DeepSeek-V3")
    shared = TensorClass.SHARED_EXPERT
    stage = rank_bytes(spec, "bf16", Placement(tensor_parallel=8), whole=frozenset({shared}))[0]
    assert stage[shared] == 58 * 3 * 7_168 * 2_048 * 2


def test_more_stages_than_layers() -> None:
    with pytest.raises(PlacementError):
        rank_bytes(spec_of("meta-llama/Llama-3.2-3B"), "bf16", Placement(pipeline_parallel=64))
