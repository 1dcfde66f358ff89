"""Which of vLLM's two model runners serves a model (use_v2_model_runner in vllm/config/vllm.py)."""

from model_catalog.spec import ModelSpec, Recurrent
from sizing.engines.vllm.profiling.rules import ProfileRules
from sizing.scenario import Scenario

QWEN3 = frozenset({"qwen3"})
MIXTURES = frozenset({"deepseek", "deepseek_v2", "granitemoe", "qwen2_moe"})
THREE = QWEN3 | {"llama", "mistral"}
LISTED = THREE | MIXTURES
WITHOUT_RUNNER = ("ngram", "suffix", "medusa")  # methods of drafting that the second runner does not have


def uses_second_runner(scenario: Scenario, spec: ModelSpec, rules: ProfileRules) -> bool:
    """Unless VLLM_USE_V2_MODEL_RUNNER says otherwise."""
    method = scenario.speculative.method.lower() if scenario.speculative else ""
    if method in WITHOUT_RUNNER or (scenario.pooling and rules.second_runner != "all"):
        return False
    match rules.second_runner:
        case "all":
            return True
        case "dense":
            recurrent = spec.has(Recurrent)
            return not recurrent and (spec.model_type in MIXTURES or not spec.is_mixture)
        case "listed":
            return spec.model_type in LISTED
        case "three" | "qwen3":
            known = THREE if rules.second_runner == "three" else QWEN3
            return spec.model_type in known and not _is_quantized(scenario, spec)
        case _:
            return False


def _is_quantized(scenario: Scenario, spec: ModelSpec) -> bool:
    if scenario.weights == "auto":
        return spec.quantization is not None
    return scenario.weights not in ("bf16", "fp16", "fp32")
