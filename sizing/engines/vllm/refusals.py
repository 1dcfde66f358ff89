"""Models and settings that vLLM turns away at start-up, with its reason (model_executor/models/registry.py)."""

from model_catalog.spec import ModelSpec, Recurrent
from sizing.engines.foreign import check_foreign
from sizing.engines.vllm.rules import Rules
from sizing.placement import check_placement
from sizing.resolve import too_long
from sizing.scenario import Scenario, ScenarioError
from sizing.versions import Version, at_least

# Last release that has the class; from the next on vLLM names it as dropped.
DROPPED = {
    "baichuan": "0.23.0",
    "qwen": "0.23.0",
    "internlm": "0.23.0",
    "xverse": "0.23.0",
    "minimax": "0.23.0",  # MiniMax-M1, and MiniMax-Text-01 with it
    "minimax_m1": "0.23.0",
    "minimax_text_01": "0.23.0",
    "mpt": "0.28.0",
    "phi3small": "0.9.2",
}
UNSUPPORTED = frozenset(
    {
        "gpt_neo",
        "hunyuan_cla",
        "minimax_m3_vl_text",
        "mllama",
        "mt5",
        "openelm",
        "phi4flash",
        "rwkv",
        "rwkv5",
        "rwkv6",
        "rwkv7",
        "step3p7",
        "t5",
    }
)
UNDISPATCHED = {"xlstm": "xLSTM", "zamba": "Zamba", "bailing_hybrid": "Ling 3.0"}
UNKNOWN_STATES = frozenset({"rwkv", "xlstm"})
RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)  # vllm/config/lora.py, read in 0.14.0 to 0.33.0


def check(scenario: Scenario, spec: ModelSpec, rules: Rules, version: Version) -> None:
    """Raises ScenarioError or PlacementError at the field at fault."""
    check_foreign(scenario, "vllm")
    if scenario.dp_attention:
        raise ScenarioError("dp_attention", "dp_attention is a setting of SGLang; vLLM has none like it.")
    _check_model(spec, version)
    check_placement(spec, scenario.placement)
    if scenario.expert_parallel and not spec.is_mixture:
        raise ScenarioError("expert_parallel", "vLLM refuses expert parallelism for a model without experts.")
    if too_long(scenario, spec):
        raise ScenarioError(
            "context_length",
            f"vLLM rejects requests longer than max_model_len, here {scenario.max_model_len:,} tokens.",
        )
    if scenario.lora and scenario.lora.rank not in RANKS:
        raise ScenarioError("lora", f"vLLM takes a max_lora_rank of {', '.join(map(str, RANKS))}.")
    if rules.v0 and scenario.decode_context_parallel > 1:
        raise ScenarioError("decode_context_parallel", "This vLLM release has no decode context parallelism.")


def _check_model(spec: ModelSpec, version: Version) -> None:
    last = DROPPED.get(spec.model_type)
    if last is not None and at_least(version, _after(last)):
        raise ScenarioError(
            "engine_version", f"vLLM supported {spec.model_type} models until {last}, and does not any more."
        )
    if spec.model_type in UNSUPPORTED or any(
        isinstance(mixer, Recurrent) and mixer.kind in UNKNOWN_STATES for mixer in spec.mixers()
    ):
        raise ScenarioError("model", f"vLLM does not support {spec.model_type} models.")
    if spec.model_type in UNDISPATCHED:
        raise ScenarioError(
            "model", f"vLLM refuses {UNDISPATCHED[spec.model_type]}: some of its layers have no attention it can run."
        )


def _after(release: str) -> str:
    *front, last = release.split(".")
    return ".".join([*front, str(int(last) + 1)])
