"""Of a batch one sequence counts with what it is admitted for, the others with what they hold."""

from model_catalog.lookup import find_entry
from sizing.scenario import make_scenario
from sizing.size import plan

GEMMA = "google/gemma-3-27b-it"
BLOCK = 1_310_720  # 10 layers × 2 × 16 heads × 128 × 2 B × 16 tokens


def test_gemma_3_holds_65_blocks_a_window_group_once_settled_but_is_admitted_for_1089() -> None:
    """vLLM 0.33's planner: one full group, six groups of windows, 14,726 blocks admitted at 131,072 tokens."""
    scenario = make_scenario({"model": GEMMA, "engine": "vllm", "engine_version": "0.33.0"})
    cache = plan(scenario, find_entry(GEMMA).spec).ranks[0].cache
    assert cache.need(131_072, 1) == 14_726 * BLOCK
    assert cache.need(131_072, 2) - cache.need(131_072, 1) == (8192 + 6 * 65) * BLOCK


def test_a_length_beyond_the_models_limit_is_answered_with_a_note_and_leaves_the_limit_alone() -> None:
    values = {"model": GEMMA, "engine": "vllm", "context_length": 200_000}
    planned = plan(make_scenario(values), find_entry(GEMMA).spec)
    assert planned.scenario.max_model_len == 131_072
    assert any("more than the 131,072" in note for note in planned.notes)
