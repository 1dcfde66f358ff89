"""Formats, block sizes, defaults and refusals of engine vllm."""

from dataclasses import replace
from math import ceil
from typing import Any

import pytest

from hardware_catalog import get_accelerator
from model_catalog.spec import Attention, FeedForward, Indexer, Layer, LayerRun, ModelSpec, Quantization, Recurrent
from sizing.placement import PlacementError
from sizing.scenario import ScenarioError
from tests.sizing.engines.vllm import models as m

B200, MI300X, H100_CARD = get_accelerator("b200-sxm"), get_accelerator("mi300x"), get_accelerator("h100-sxm5-80gb")


def per_token(spec: ModelSpec, accelerator: Any = None, **settings: Any) -> int:
    return m.plan(spec, accelerator, max_model_len=131_072, **settings).needed_kv_bytes // 131_072


@pytest.mark.parametrize(
    ("kv_dtype", "bytes_per_head"),
    [
        ("auto", 512),
        ("fp8", 256),
        ("fp8_e5m2", 256),
        ("int8_per_token_head", 264),
        ("int4_per_token_head", 136),
        ("nvfp4", 144),
        ("ultraquant_4bit", 136),
    ],
)
def test_formats(kv_dtype: str, bytes_per_head: int) -> None:
    """Section 8, one key and value of 128: Llama-3.1-8B keeps 8 in each of 32 layers."""
    assert per_token(m.LLAMA_8B, kv_dtype=kv_dtype) == bytes_per_head * 8 * 32


def test_turboquant_leaves_the_ends_alone() -> None:
    """Section 8: 134 bytes a head at 4 bits; the first and last two layers stay in 16 bits."""
    assert per_token(m.LLAMA_8B, kv_dtype="turboquant_4bit_nc") == (134 * 28 + 512 * 4) * 8


def test_sparse_latents_by_format() -> None:
    """Section 2.1: auto keeps bf16, fp8 means fp8_ds_mla, and a checkpoint's pinned fp8 is plain."""
    pinned = m.spec_of(
        (78, m.SPARSE), model_type="glm_moe_dsa", quantization=Quantization(method="nvfp4", kv_cache="fp8")
    )
    assert per_token(m.DEEPSEEK_V32) == 61 * (1152 + 132)
    assert per_token(m.DEEPSEEK_V32, kv_dtype="fp8") == 61 * (656 + 132)
    assert per_token(m.DEEPSEEK_V32, kv_dtype="nvfp4_ds_mla") == 61 * (352 + 132)
    assert per_token(pinned) == 78 * (576 + 132) == 3_534_336 // 64


def test_glm5_goes_to_fp8_on_sm100() -> None:
    glm = m.spec_of((78, m.SPARSE), model_type="glm_moe_dsa")
    assert per_token(glm) == 78 * (1152 + 132)
    assert per_token(glm, B200) == 78 * (576 + 132)


def test_heads_are_copied_below_the_ranks() -> None:
    """Section 9: Llama-3.1-8B at tp 16 keeps 16,384 bytes a token on each rank."""
    assert per_token(m.LLAMA_8B, tensor_parallel=16) == 16_384


def test_minicpm3_keeps_every_head() -> None:
    """vLLM 0.33's planner: 10 heads of 96 + 96 a rank at tp 4, pages of 61,440 bytes."""
    latent = replace(m.MLA, heads=40, latent_dim=256, rope_dim=32, nope_dim=64, value_dim=64)
    spec = m.spec_of((62, latent), model_type="minicpm3")
    assert per_token(spec, tensor_parallel=4) == 62 * 61_440 // 16


def test_indexed_plain_attention_takes_blocks_of_128() -> None:
    """vLLM 0.33's planner on MiniMax-M3: 60 layers of 262,144 bytes and 57 index keys of 32,768 in one block."""
    plain = m.heads(4, 128)
    indexed = m.heads(4, 128, indexer=Indexer(head_dim=128, heads=4, top_k=2048))
    spec = m.spec_of((3, plain), (57, indexed), model_type="minimax_m3_vl")
    assert m.groups(spec, max_model_len=131_072) == [(117, 128, 1024)]
    assert m.block_bytes(m.plan(spec, max_model_len=131_072)) == 17_596_416


def test_defaults_by_card() -> None:
    """Section 10: 1,024 sequences and 8,192 tokens on cards of 70 GiB and more, 16,384 from 160 GiB on."""
    free = {"max_num_batched_tokens": None}
    small = m.plan(m.LLAMA_8B, get_accelerator("rtx-4090"), **free).scenario
    large = m.plan(m.LLAMA_8B, H100_CARD, **free).scenario
    assert (small.max_num_seqs, small.max_num_batched_tokens) == (256, 2048)
    assert (large.max_num_seqs, large.max_num_batched_tokens) == (1024, 8192)
    assert m.plan(m.LLAMA_8B, B200, **free).scenario.max_num_batched_tokens == 16_384
    assert m.plan(m.LLAMA_8B, get_accelerator("a100-sxm4-80gb"), **free).scenario.max_num_seqs == 256
    assert (large.memory_fraction, large.engine_version) == (0.92, "0.33")
    assert m.plan(m.LLAMA_8B, engine_version="0.11.0").scenario.memory_fraction == 0.9


def test_cards_without_cuda_take_the_plain_blocks() -> None:
    assert m.groups(m.DEEPSEEK_V3, MI300X, kv_dtype="fp8", max_model_len=16_384) == [(61, 16, 1024)]


def test_the_budget_is_the_rounded_up_share() -> None:
    total = 80_000_000_001
    planned = m.plan(m.LLAMA_8B, available_kv_bytes=None, total_memory_bytes=total, memory_fraction=0.9)
    rank = planned.ranks[0]
    assert planned.budget == ceil(total * 0.9)
    assert rank.available == planned.budget - rank.weights - rank.activation - rank.graphs - rank.runtime


def test_other_processes_may_leave_less_than_the_share() -> None:
    planned = m.plan(m.LLAMA_8B, available_kv_bytes=None, total_memory_bytes=80 * m.GIB, other_memory_bytes=40 * m.GIB)
    assert planned.budget == 40 * m.GIB
    assert any("does not start" in note for note in planned.notes)


def test_no_memory_no_figures() -> None:
    planned = m.plan(m.LLAMA_8B, available_kv_bytes=None)
    assert planned.printed.kv_tokens is None and planned.log.lines == ()


def test_a_length_that_does_not_start_is_noted() -> None:
    """vLLM 0.33's planner: Llama-3.1-70B needs 40 GiB for 131,072 tokens and gets 40 GiB less the null block."""
    big = m.spec_of((80, m.heads(8, 128)))
    assert any("does not start" in note for note in m.plan(big, max_model_len=131_072).notes)
    assert m.plan(big, max_model_len=131_056).notes == ()


def test_uncounted_drafts_are_not_exact() -> None:
    assert m.plan(m.LLAMA_8B, speculative={"method": "ngram"}).grades.kv == "exact"
    assert m.plan(m.LLAMA_8B, speculative={"method": "custom_class"}).grades.kv == "assumed"


def test_encoders_cache_nothing() -> None:
    planned = m.plan(m.spec_of((24, m.heads(16, 64, query_heads=16)), model_type="xlm-roberta"))
    assert planned.needed_kv_bytes == 0 and planned.printed.kv_tokens is None


REFUSED: list[tuple[ModelSpec, dict[str, Any], str, str]] = [
    (m.LLAMA_8B, {"tensor_parallel": 3}, "tensor_parallel", "cannot share evenly"),
    (m.spec_of((40, m.heads(10, 128, query_heads=40))), {"tensor_parallel": 4}, "tensor_parallel", "KV heads"),
    (m.LLAMA_8B, {"expert_parallel": True}, "expert_parallel", "without experts"),
    (m.LLAMA_8B, {"dp_attention": True}, "dp_attention", "SGLang"),
    (m.LLAMA_8B, {"swa_full": True}, "swa_full", r"llama\.cpp"),
    (m.LLAMA_8B, {"kv_dtype": "q8_0"}, "kv_dtype", "no cache format"),
    (m.LLAMA_8B, {"kv_dtype": "nvfp4", "engine_version": "0.6.3"}, "kv_dtype", "no cache format"),
    (m.LLAMA_8B, {"kv_dtype": {"k": "fp8", "v": "bf16"}}, "kv_dtype", "one format"),
    (m.LLAMA_8B, {"kv_dtype": "fp8_ds_mla"}, "kv_dtype", "latent attention"),
    (m.LLAMA_8B, {"block_size": 20}, "block_size", "multiple of 16"),
    (m.DEEPSEEK_V32, {"block_size": 16}, "block_size", "multiple of 64"),
    (m.LLAMA_8B, {"max_model_len": 4096, "context_length": 8000}, "context_length", "max_model_len"),
    (m.GPT_OSS_120B, {"tensor_parallel": 2, "decode_context_parallel": 2}, "decode_context_parallel", "sliding"),
    (m.V4_FLASH, {"engine_version": "0.8.5"}, "engine_version", "hybrid cache manager"),
    (m.QWEN3_NEXT, {"hybrid_kv_cache_manager": False}, "hybrid_kv_cache_manager", "hybrid cache manager"),
    (m.spec_of((24, m.heads(16, 64)), model_type="gpt_neo"), {}, "model", "does not support"),
    (m.spec_of((24, m.heads(16, 64)), model_type="zamba"), {}, "model", "refuses Zamba"),
    (
        m.spec_of((24, Recurrent(kind="rwkv", heads=64, state_elements=4096)), model_type="rwkv7_new"),
        {},
        "model",
        "does not support",
    ),
]


@pytest.mark.parametrize(("spec", "settings", "field", "words"), REFUSED)
def test_refusals(spec: ModelSpec, settings: dict[str, Any], field: str, words: str) -> None:
    with pytest.raises((ScenarioError, PlacementError), match=words) as error:
        m.plan(spec, **settings)
    assert isinstance(error.value, ScenarioError | PlacementError)
    assert error.value.field == field


def test_experts_may_be_parallel() -> None:
    layer = Layer(
        mixers=(Attention(heads=32, kv_heads=8, head_dim=128, value_dim=128),),
        feed_forward=FeedForward(intermediate=64, experts=8, top_k=2),
    )
    spec = replace(m.LLAMA_8B, layers=(LayerRun(32, layer),))
    assert m.plan(spec, expert_parallel=True).printed.kv_tokens


def test_ranks_of_adapters_are_those_listed() -> None:
    """vllm/config/lora.py: 1, 8, 16, 32, 64, 128, 256, 320 and 512."""
    m.plan(m.LLAMA_8B, None, lora={"max_loras": 1, "rank": 320})
    with pytest.raises(ScenarioError) as refused:
        m.plan(m.LLAMA_8B, None, lora={"max_loras": 1, "rank": 24})
    assert refused.value.field == "lora"


def test_formats_with_a_scale_for_each_head_need_heads_of_32() -> None:
    """supports_head_size of v1/attention/backends/triton_attn.py."""
    narrow = m.spec_of((2, m.heads(8, 16, query_heads=64)))
    with pytest.raises(ScenarioError, match="at least 32 elements") as refused:
        m.plan(narrow, kv_dtype="int4_per_token_head")
    assert refused.value.field == "kv_dtype"


@pytest.mark.parametrize(
    ("card", "words"),
    [
        ("gaudi3", "vllm-gaudi"),
        ("tpu-v6e", "tpu-inference"),
        ("apple-m4-pro", "vllm-metal"),
        ("max-1550", "of its own"),
    ],
)
def test_other_platforms_are_told_and_nothing_is_sure_there(card: str, words: str) -> None:
    planned = m.plan(m.LLAMA_8B, get_accelerator(card))
    assert any(words in note and "by its rules for CUDA" in note for note in planned.notes)
    assert {planned.grades.weights, planned.grades.kv, planned.grades.runtime} == {"assumed"}
    assert m.plan(m.LLAMA_8B, H100_CARD).grades.kv == "exact"
