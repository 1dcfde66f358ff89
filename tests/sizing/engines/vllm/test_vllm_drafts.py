"""Drafts in vLLM: which methods it has, and the weights and cache of a separate checkpoint."""

from typing import Any

import pytest

from model_catalog.importers import read_config
from model_catalog.lookup import find_entry
from model_catalog.spec import ModelSpec
from sizing.answer import answer
from sizing.drafting import with_draft
from sizing.engines.plan import EnginePlan
from sizing.engines.vllm import ENGINE
from sizing.engines.vllm.cache.pool import PoolCache
from sizing.scenario import ScenarioError, make_scenario

LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
HEAD = "RedHatAI/Llama-3.1-8B-Instruct-speculator.eagle3"
SMALL = "meta-llama/Llama-3.2-1B-Instruct"
DEEPSEEK = "deepseek-ai/DeepSeek-V3"
GIB = 2**30


def plan(model: str, method: str, draft: str | ModelSpec | None = None, tokens: int = 3, **settings: Any) -> EnginePlan:
    spec = find_entry(model).spec
    given: dict[str, Any] = {"method": method, "tokens": tokens}
    if draft is not None:
        spec = with_draft(spec, draft if isinstance(draft, ModelSpec) else find_entry(draft).spec)
        given["model"] = draft if isinstance(draft, str) else "a-draft"
    values = {"model": model, "engine": "vllm", "available_kv_bytes": 40 * GIB, "max_model_len": 8192}
    return ENGINE.plan(make_scenario({**values, "speculative": given, **settings}), spec, None)


def token_bytes(planned: EnginePlan) -> list[int]:
    caches = [rank.cache for rank in planned.ranks]
    assert all(isinstance(cache, PoolCache) for cache in caches)
    return [cache.block_bytes // 16 for cache in caches if isinstance(cache, PoolCache)]


def drafts(planned: EnginePlan) -> list[int]:
    return [rank.draft for rank in planned.ranks]


def test_an_eagle3_head_keeps_what_its_target_does_not_have() -> None:
    """Of the 950,186,496 published elements the embedding is the target's, and the table of tokens left out unused."""
    held = 950_186_496 - 128_256 * 4096 - 128_256
    planned = plan(LLAMA, "eagle3", HEAD)
    assert 0 <= drafts(planned)[0] - (2 * held + 6 * 32_000) < 40 * 2**20
    assert token_bytes(planned) == [(32 + 1) * 2 * 8 * 128 * 2]
    assert planned.grades.weights == "exact"


def test_a_head_is_shared_out_over_the_ranks_of_its_target() -> None:
    """fc and norms are whole on every rank, the rest is divided."""
    alone, two = (drafts(plan(LLAMA, "eagle3", HEAD, tensor_parallel=ranks))[0] for ranks in (1, 2))
    whole = 3 * 4096 * 4096 * 2
    assert alone / 2 + whole / 2 <= two <= alone / 2 + whole / 2 + 40 * 2**20


def test_the_last_stage_holds_the_draft() -> None:
    """With an embedding of its own, for the target's is on the first."""
    planned = plan(LLAMA, "eagle3", HEAD, pipeline_parallel=2)
    assert drafts(planned) == [0, drafts(plan(LLAMA, "eagle3", HEAD))[0] + 2 * 128_256 * 4096]
    assert token_bytes(planned) == [16 * 4096, 17 * 4096]


def test_a_whole_model_drafts_with_all_of_its_own() -> None:
    """Llama-3.2-1B: 1,235,814,400 parameters, 16 layers of 8 heads of 64."""
    planned = plan(LLAMA, "draft_model", SMALL)
    assert 0 <= drafts(planned)[0] - 2 * 1_235_814_400 < 40 * 2**20
    assert token_bytes(planned) == [32 * 4096 + 16 * 2048]


def test_a_block_head_keeps_its_key_and_value_projections_twice() -> None:
    """vLLM prints a checkpoint of 0.88 GiB (473,995,264 elements) for this head."""
    with_head = plan("Qwen/Qwen3.6-35B-A3B", "dflash", "AEON-7/AEON-DFlash-Qwen3.6-35B-A3B")
    twice = 2 * 8 * 2 * 4 * 128 * 2048
    table = 2 * 262_144 * 128
    assert 0 <= drafts(with_head)[0] - (2 * 473_995_264 + twice + table) < 4 * 2**20


@pytest.mark.parametrize(
    ("version", "available", "settings", "tokens", "concurrency"),
    [  # receipts v008, v009 and v230
        ("0.20.0", 62.31, {"max_model_len": 262_144, "tokens": 15}, 582_832, 4.71),
        ("0.22.0", 62.74, {"max_model_len": 262_144, "tokens": 15}, 1_241_920, 4.74),
        ("0.22.0", 71.5945, {"max_model_len": 200_000, "tokens": 6}, 1_470_588, 7.35),
    ],
)
def test_printed_pools_with_a_block_head(
    version: str, available: float, settings: dict[str, int], tokens: int, concurrency: float
) -> None:
    planned = plan(
        "Qwen/Qwen3.6-35B-A3B",
        "dflash",
        "AEON-7/AEON-DFlash-Qwen3.6-35B-A3B",
        engine_version=version,
        prefix_caching=True,
        max_num_batched_tokens=32_768,
        available_kv_bytes=int(available * GIB),
        **settings,
    )
    assert planned.printed.kv_tokens == tokens
    assert round(planned.printed.max_concurrency or 0, 2) == concurrency


def test_a_draft_in_fewer_bits() -> None:
    """In 8 bits all but the embedding, norms and scales is half as large."""
    given = {"method": "draft_model", "model": SMALL}
    plain, fp8 = (
        drafts(plan(LLAMA, "draft_model", SMALL, speculative={**given, "weights": name})) for name in (None, "fp8")
    )
    linears = 1_235_814_400 - 128_256 * 2048 - 33 * 2048
    assert 0 <= linears - (plain[0] - fp8[0]) < 2 * 2**20
    with pytest.raises(ScenarioError, match="not a precision") as refused:
        plan(LLAMA, "draft_model", SMALL, speculative={**given, "weights": "of gold"})
    assert refused.value.field == "speculative"


@pytest.mark.parametrize(
    ("longest", "available", "tokens"), [(262_144, 35.64, 1_018_134), (65_536, 35.20, 950_420)]
)  # receipts v202 and v208
def test_printed_pools_with_a_head_of_laguna(longest: int, available: float, tokens: int) -> None:
    """The target has an FP8 cache and the head keeps all of its windowed layers. Sizes are printed to 0.01 GiB."""
    least, most = (
        plan(
            "poolside/Laguna-S-2.1-INT4",
            "dflash",
            "poolside/Laguna-S-2.1-DFlash",
            tokens=15,
            engine_version="0.25.1",
            max_model_len=longest,
            max_num_batched_tokens=2048,
            available_kv_bytes=int((available + error) * GIB),
        ).printed.kv_tokens
        for error in (-0.005, 0.005)
    )
    assert (least or 0) <= tokens <= (most or 0)


def test_medusa_has_a_head_for_each_token_and_no_cache() -> None:
    head = read_config({"model_type": "medusa", "medusa_num_heads": 5, "hidden_size": 4096, "vocab_size": 128_256})
    planned = plan(LLAMA, "medusa", head, tokens=2)
    each = 2 * (4096 * 4096 + 128_256 * 4096)
    assert 0 <= drafts(planned)[0] - 2 * each < 4 * 2**20
    assert token_bytes(planned) == [32 * 4096]


def test_an_mlp_speculator_is_whole_on_every_rank_of_the_old_engine() -> None:
    head = read_config({"model_type": "mlp_speculator", "vocab_size": 128_256, "emb_dim": 4096, "inner_dim": 3072})
    one, two = (
        drafts(plan(LLAMA, "mlp_speculator", head, engine_version="0.6.0", tensor_parallel=ranks))[0]
        for ranks in (1, 2)
    )
    assert one == two > 0


def test_drafted_tokens_have_slots() -> None:
    """scheduler.py: the tokens to check, and as many more that EAGLE looks ahead; none beyond the longest request."""
    plain = plan(LLAMA, "ngram", tokens=1, max_model_len=8192).ranks[0].cache
    assert int(plain.kv(1024, 1)) == 65 * 16 * 32 * 4096  # one token more than 64 blocks
    eagle = plan(LLAMA, "eagle3", HEAD, tokens=8).ranks[0].cache
    assert int(eagle.kv(1024 - 16, 1)) == 64 * 16 * 33 * 4096
    assert int(eagle.kv(1024, 1)) == 65 * 16 * 33 * 4096
    assert int(eagle.kv(8192, 1)) == 512 * 16 * 33 * 4096


def test_what_is_drafted_sets_no_end_to_what_is_needed() -> None:
    cache = plan(LLAMA, "eagle3", HEAD, max_model_len=8192).ranks[0].cache
    assert int(cache.kv(16_384, 1)) == 2 * int(cache.kv(8192, 1))


def test_stages_of_dspark_in_the_models_own_checkpoint() -> None:
    """DeepSeek-V4-Flash with and without them: 13,235,802,092 published elements, 512 of them router biases."""
    with_stages, without = (find_entry(f"deepseek-ai/DeepSeek-V4-Flash{end}").spec for end in ("-0731", ""))
    sizes = [sum(t.elements for tower in spec.towers for t in tower.tensors) for spec in (with_stages, without)]
    assert sizes[0] - sizes[1] == 304_180_418_494 - 290_944_616_402 - 512
    drafted = plan("deepseek-ai/DeepSeek-V4-Flash-0731", "dspark", tokens=5, tensor_parallel=4)
    assert drafts(drafted)[0] > 0
    with pytest.raises(ScenarioError, match="no layers for multi-token prediction"):
        plan("deepseek-ai/DeepSeek-V4-Flash-0731", "mtp", tokens=1)
    with pytest.raises(ScenarioError, match="needs a draft model: a DSpark head"):
        plan("deepseek-ai/DeepSeek-V4-Flash", "dspark", tokens=5)


def test_an_assistant_reads_its_targets_cache() -> None:
    """Gemma 4's draft of 469,518,596 stored elements keeps no keys and values."""
    name = "google/gemma-4-31B-it"
    planned = plan(name, "mtp", "google/gemma-4-31B-it-qat-q4_0-unquantized-assistant", tokens=4)
    assert 0 <= drafts(planned)[0] - 2 * 469_518_592 < 4 * 2**20
    assert token_bytes(planned) == token_bytes(plan(name, "ngram"))


def test_heads_in_their_targets_clothes() -> None:
    """EAGLE's authors name their heads LlamaForCausalLM."""
    config = {
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
        "num_hidden_layers": 1,
        "vocab_size": 128_256,
        "hidden_size": 4096,
        "intermediate_size": 14_336,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
    }
    planned = plan(LLAMA, "eagle", read_config(config))
    layer = 4096 * (2 * 4096 + 2 * 1024) + 3 * 4096 * 14_336 + 4096
    assert 0 <= drafts(planned)[0] - 2 * (layer + 2 * 4096 * 4096) < 4 * 2**20


REFUSED: list[tuple[str, str, str | None, dict[str, Any], str]] = [
    (LLAMA, "magic", None, {}, 'vLLM has no speculative method "magic". It has mtp, draft_model, eagle'),
    (LLAMA, "dflash", None, {"engine_version": "0.6.0"}, 'This vLLM release has no speculative method "dflash"'),
    (LLAMA, "eagle3", None, {}, 'Speculation by "eagle3" needs a draft model: an EAGLE-3 head'),
    (LLAMA, "mtp", None, {}, "no layers for multi-token prediction"),
    (LLAMA, "dflash", HEAD, {}, f"{HEAD} is an EAGLE-3 head; this method of speculation needs a DFlash head."),
    (LLAMA, "draft_model", HEAD, {}, "needs a whole model"),
    (LLAMA, "eagle3", SMALL, {}, f"{SMALL} is a whole model"),
    (LLAMA, "draft_model", "Qwen/Qwen3-0.6B", {}, "a vocabulary of 151,936, the model one of 128,256"),
    (LLAMA, "draft_model", SMALL, {"engine_version": "0.12.0"}, "does not support whole models as drafts"),
    ("meta-llama/Llama-3.1-70B", "eagle3", "RedHatAI/Qwen3-14B-speculator.eagle3", {}, "it joins 15,360 numbers"),
]


@pytest.mark.parametrize(("model", "method", "draft", "settings", "reason"), REFUSED)
def test_refusals(model: str, method: str, draft: str | None, settings: dict[str, Any], reason: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        plan(model, method, draft, **settings)
    assert caught.value.field == "speculative"
    assert reason in caught.value.message


@pytest.mark.parametrize(
    ("speculative", "reason"),
    [
        ({"method": "eagle3", "model": "RedHatAI/Llama-3.1-8B-speculator.eagle3"}, "is not in the model catalog; did"),
        ({"method": "eagle3", "model": "./nowhere/config.json"}, "cannot be read: there is no such file"),
        ({"method": "eagle3", "model": HEAD, "tokens": 0}, "must be at least 1"),
    ],
)
def test_the_draft_is_looked_up_as_the_model_is(speculative: dict[str, Any], reason: str) -> None:
    error = answer({"model": LLAMA, "engine": "vllm", "speculative": speculative})["error"]
    assert error["field"] == "speculative"
    assert reason in error["message"]


def test_a_draft_is_no_model() -> None:
    error = answer({"model": HEAD, "engine": "vllm"})["error"]
    assert error["field"] == "model"
    assert "is an EAGLE-3 head, no model by itself" in error["message"]


def test_a_report_counts_the_draft() -> None:
    values = {"model": LLAMA, "accelerator": "h100-sxm5-80gb"}
    report = answer({**values, "speculative": {"method": "eagle3", "model": HEAD, "tokens": 3}})
    without = answer(values)
    assert report["per_gpu"]["draft_bytes"] > 800_000_000
    assert report["capacity"]["kv_tokens"] < without["capacity"]["kv_tokens"] * 32 / 33


@pytest.mark.parametrize(
    ("settings", "heads", "embeddings"),
    [({}, 0, 0), ({"pipeline_parallel": 2}, 0, 1), ({"engine_version": "0.12.0"}, 1, 0)],
)
def test_prediction_layers_use_the_ends_of_their_model(settings: dict[str, Any], heads: int, embeddings: int) -> None:
    """DeepSeek-V3's module: 11.5 billion parameters of its own, 0.9 of an embedding and 0.9 of an output head.

    Source: README_WEIGHTS.md of the checkpoint.
    """
    with_ends = drafts(plan(DEEPSEEK, "mtp", tensor_parallel=8, **settings))[-1]
    without = drafts(plan(DEEPSEEK, "mtp", tensor_parallel=8))[-1]
    assert with_ends - without == (heads + embeddings) * 2 * 7168 * 129_280 // 8


def test_a_prediction_module_has_its_published_size() -> None:
    """In FP8 on one rank, but for scales (1 in 16,384 in 32 bits) and what stays in 16 bits, eh_proj most of all."""
    held = drafts(plan(DEEPSEEK, "mtp"))[0]
    assert 11.4e9 < held - 2 * 7168 * 7168 < 11.65e9
