"""Separate drafts in SGLang, llama.cpp and TensorRT-LLM: methods, weights and cache. vLLM's are in its own folder."""

from typing import Any

import pytest

from model_catalog.lookup import find_entry
from sizing.answer import answer, find_models
from sizing.engines import ENGINES
from sizing.engines.plan import EnginePlan
from sizing.scenario import make_scenario

LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
HEAD = "RedHatAI/Llama-3.1-8B-Instruct-speculator.eagle3"
SMALL = "meta-llama/Llama-3.2-1B-Instruct"
HYBRID, BLOCK_HEAD = "Qwen/Qwen3.6-35B-A3B", "AEON-7/AEON-DFlash-Qwen3.6-35B-A3B"
GIB, MIB = 2**30, 2**20
# Published elements less the embedding, which is the target's, and a table that no engine keeps.
HELD = 950_186_496 - 128_256 * 4096 - 128_256
SMALLS = 1_235_814_400  # of Llama-3.2-1B


def plan(engine: str, method: str, draft: str | None = None, model: str = LLAMA, **settings: Any) -> EnginePlan:
    speculative = {"method": method, "tokens": 3, "model": draft}
    values = {"model": model, "engine": engine, "available_kv_bytes": 40 * GIB, "speculative": speculative}
    scenario = make_scenario({**values, **settings})
    return ENGINES[engine].plan(scenario, find_models(scenario), None)


@pytest.mark.parametrize(
    ("engine", "method", "draft", "size"),
    [
        ("sglang", "eagle3", HEAD, 2 * HELD + 6 * 32_000),
        ("sglang", "standalone", SMALL, 2 * SMALLS),
        ("tensorrt-llm", "eagle3", HEAD, 2 * HELD + 6 * 32_000),
        ("tensorrt-llm", "draft_target", SMALL, 2 * SMALLS),
    ],
)
def test_weights(engine: str, method: str, draft: str, size: int) -> None:
    assert plan(engine, method, draft).ranks[0].draft == size


def test_a_draft_in_another_format() -> None:
    """Q8_0 has 34 bytes for each 32 elements."""
    values = {"model": LLAMA, "engine": "llama.cpp", "context_length": 4096}
    speculative = {"method": "draft-simple", "model": SMALL, "tokens": 3}
    halves = answer({**values, "speculative": speculative})["per_gpu"]["draft_bytes"]
    eighths = answer({**values, "speculative": {**speculative, "weights": "q8_0"}})["per_gpu"]["draft_bytes"]
    assert eighths / halves == pytest.approx(34 / 64, abs=1e-3)
    assert halves == pytest.approx(2 * SMALLS, rel=1e-3)  # a tied embedding is the output head on the device


def test_a_format_of_the_draft_that_is_none_of_gguf_is_told_at_the_draft() -> None:
    speculative = {"method": "draft-simple", "model": SMALL, "tokens": 3, "weights": "awq-int4"}
    error = answer({"model": LLAMA, "engine": "llama.cpp", "speculative": speculative})["error"]
    assert error["field"] == "speculative"
    assert "awq-int4 is no type of theirs" in error["message"]


@pytest.mark.parametrize(
    ("engine", "method"),
    [("vllm", "ngram"), ("vllm", "suffix"), ("sglang", "NGRAM"), ("llama.cpp", "ngram"), ("tensorrt-llm", "lookahead")],
)
def test_methods_that_look_tokens_up_take_no_draft_model(engine: str, method: str) -> None:
    speculative = {"method": method, "tokens": 3, "model": SMALL}
    values = {"model": LLAMA, "engine": engine, "context_length": 4096}
    error = answer({**values, "speculative": speculative})["error"]
    assert error["field"] == "speculative"
    assert "takes no draft model" in error["message"]
    assert "error" not in answer({**values, "speculative": {**speculative, "model": None}})


def test_llama_cpp_keeps_the_drafts_cache_in_f16_at_full_length() -> None:
    """16 layers of 8 heads of 64 beside 32 of 8 of 128, for 8,192 cells; the target's may be quantised."""
    plain = plan("llama.cpp", "draft-simple", SMALL, context_length=8192)
    assert int(plain.ranks[0].cache.kv(8192, 1)) == 8192 * (32 * 4096 + 16 * 2048)
    mixed = plan("llama.cpp", "draft-simple", SMALL, context_length=8192, kv_dtype="q8_0")
    assert int(mixed.ranks[0].cache.kv(8192, 1)) == 8192 * (32 * 4096 * 34 // 64 + 16 * 2048)


def test_only_some_drafts_roll_the_state_back() -> None:
    """need_n_rs_seq in llama.cpp's common.h: not for whole models (receipt l045 has 7 states for 6 tokens)."""
    rolled = plan("llama.cpp", "draft-dflash", BLOCK_HEAD, model=HYBRID, context_length=4096).ranks[0].cache
    whole = plan("llama.cpp", "ngram-simple", model=HYBRID, context_length=4096).ranks[0].cache
    assert int(rolled.state(4096, 1)) == 4 * int(whole.state(4096, 1))


def test_sglang_charges_an_eagle_draft_as_if_it_were_the_target() -> None:
    """pool_configurator.py: cell × (1 + draft layers / layers), whatever the draft's own heads are."""
    eagle = plan("sglang", "eagle3", HEAD)
    assert eagle.printed.kv_tokens == 40 * GIB * 32 // (131_072 * 33)
    small = plan("sglang", "standalone", SMALL)
    assert small.printed.kv_tokens == 40 * GIB * 32 // (131_072 * 48)
    assert int(small.ranks[0].cache.live(1000, 1)) == 1000 * (131_072 + 16 * 2048)


def test_sglang_sizes_a_block_head_by_its_own_rows() -> None:
    """Eight layers of 4 heads of 128 beside ten of 2 heads of 256."""
    cell = 10 * 2048 + 8 * 2048
    planned = plan("sglang", "dflash", BLOCK_HEAD, model=HYBRID)
    (rank,) = planned.ranks
    assert int(rank.cache.kv(1024, 1)) == 1024 * cell


def test_tensorrt_llm_joins_the_drafts_layers_to_the_targets() -> None:
    planned = plan("tensorrt-llm", "eagle3", HEAD, memory_fraction=0.9)
    plain = plan("tensorrt-llm", "ngram", memory_fraction=0.9)
    blocks = [int(each.ranks[0].cache.kv(3200, 1)) for each in (planned, plain)]
    assert blocks[0] * 32 == blocks[1] * 33


@pytest.mark.parametrize(
    ("engine", "method", "draft", "reason"),
    [
        ("sglang", "medusa", None, 'SGLang has no speculative method "medusa". It has nextn, eagle'),
        ("sglang", "eagle3", None, "needs a draft model: an EAGLE-3 head"),
        ("sglang", "nextn", None, "no layers for multi-token prediction"),
        ("sglang", "standalone", HEAD, "is an EAGLE-3 head; this method of speculation needs a whole model"),
        ("llama.cpp", "lookahead", None, 'llama.cpp has no type of speculation "lookahead". It has draft-mtp'),
        ("llama.cpp", "mtp", None, "no layers for multi-token prediction"),
        ("llama.cpp", "draft-simple", None, "needs a draft model: a whole model made for this model"),
        ("llama.cpp", "draft-simple", "Qwen/Qwen3-0.6B", "a vocabulary of 151,936"),
        ("tensorrt-llm", "suffix", None, 'TensorRT-LLM has no decoding type "suffix". It has mtp'),
        ("tensorrt-llm", "mtp", None, "no layers for multi-token prediction"),
        ("tensorrt-llm", "medusa", HEAD, "needs a set of Medusa heads"),
    ],
)
def test_refusals(engine: str, method: str, draft: str | None, reason: str) -> None:
    speculative = {"method": method, "model": draft}
    error = answer({"model": LLAMA, "engine": engine, "speculative": speculative})["error"]
    assert error["field"] == "speculative"
    assert reason in error["message"]


@pytest.mark.parametrize("engine", ["minimum", "transformers"])
def test_engines_without_speculation_offer_none(engine: str) -> None:
    assert not ENGINES[engine].draft_methods


@pytest.mark.parametrize("engine", [name for name in ENGINES if ENGINES[name].draft_methods])
def test_every_offered_method_is_known_to_its_engine(engine: str) -> None:
    for method in ENGINES[engine].draft_methods:
        found = answer({"model": LLAMA, "engine": engine, "speculative": {"method": method}})
        message = found.get("error", {}).get("message", "")
        assert "error" not in found or "needs a draft model" in message or "no layers" in message


def test_an_mtp_draft_of_the_model_itself_is_its_own_layers() -> None:
    assert plan("vllm", "mtp", model="Qwen/Qwen3.6-27B").ranks[0].draft > 0
    assert find_entry("Qwen/Qwen3.6-27B").spec.draft is None
