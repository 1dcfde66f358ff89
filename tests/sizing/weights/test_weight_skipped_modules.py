"""Names that published checkpoints leave unquantised, in each way of writing them."""

import pytest

from sizing.weights.skipped import SkippedModules, globs


@pytest.mark.parametrize(
    ("names", "module", "skipped"),
    [
        (("gate", "lm_head"), "layers.3.mlp.gate", True),  # MiniMax-M2
        (("gate", "lm_head"), "layers.3.mlp.gate_proj", False),
        (("model.layers.0.mlp.gate",), "layers.0.mlp.gate", True),  # Qwen3-30B-A3B-FP8
        (("model.layers.0.mlp.gate",), "layers.10.mlp.gate", False),
        (("model.layers.1.block_sparse_moe.gate",), "layers.1.mlp.gate", True),  # MiniMax-M2.5-NVFP4
        (("language_model.model.layers.1.self_attn*",), "layers.1.self_attn.o_proj", True),  # Kimi-K2.5-NVFP4
        (("language_model.model.layers.1.self_attn*",), "layers.11.self_attn.o_proj", False),
        (("model.language_model.layers.0*",), "layers.0.mlp.up_proj", True),
        (("model.layers.*.self_attn",), "layers.7.self_attn.q_proj", True),  # gpt-oss
        (("re:.*self_attn.*",), "layers.7.self_attn.q_proj", True),  # Kimi-K2.6
        ((r"re:.*mlp\.(gate|up|gate_up|down)_proj.*",), "layers.0.mlp.down_proj", True),
        ((r"re:.*mlp\.(gate|up|gate_up|down)_proj.*",), "layers.9.mlp.experts.down_proj", False),
        (("re:.*lm_head",), "lm_head", True),
        (("re:model.layers.0$",), "layers.0", True),
        (("re:model.layers.0$",), "layers.0.mlp", False),
        ((), "lm_head", False),
    ],
)
def test_names(names: tuple[str, ...], module: str, skipped: bool) -> None:
    assert (module in SkippedModules(names)) is skipped


@pytest.mark.parametrize("pattern", ["(.+)+z", "(?=a)b", "(a", "a" * 400, "(a|b)" * 9])
def test_patterns_that_are_not_understood_match_nothing(pattern: str) -> None:
    assert globs(pattern) == []


def test_a_hostile_list_is_answered() -> None:
    """Wildcards that would take a backtracking matcher longer than the universe is old."""
    names = ("*".join("layers.mlp" * 30), "re:" + ".*." * 90 + "z", "?*" * 200 + "z")
    assert "layers.12.mlp.experts.gate_proj" not in SkippedModules(names)
