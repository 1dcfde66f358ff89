"""Whether prefill runs from CUDA graphs, and what SGLang sets aside for them.

Sources: `server_args.py` (_handle_piecewise_cuda_graph) of 0.5.10 to 0.5.13, _apply_cuda_graph_compatibility of 0.5.14
to 0.5.18, `arg_groups/cuda_graph_hook.py` from 0.5.19 on, and the lists of architectures in `configs/model_config.py`.
Up to 0.5.14 graphs are cut out of a compiled model; from 0.5.15 on they are captured in pieces ("breakable").
"""

from model_catalog.spec import ModelSpec
from sizing.engines.sglang.defaults import Card
from sizing.engines.sglang.rules import Rules
from sizing.engines.sglang.traits import Traits
from sizing.scenario import Scenario

EACH_MIB = 8
LATENT_MIB = 1536
GRIDS = ((4, 32, 4), (48, 256, 16), (288, 512, 32), (576, 1024, 64), (1280, 4096, 256))  # first, last, step
LAST_STEP = 512  # beyond the last grid

# Multimodal models are left out but for these: the release since which they are compiled, and broken into pieces.
MULTIMODAL_SINCE = {
    "cohere2_vision": ("0.5.14", "0.5.19"),
    "kimi_k25": ("0.5.16", "0.5.18"),
    "minimax_m3_vl": ("0.5.16", "0.5.22"),
    "minimax_m3_vl_text": ("0.5.16", "0.5.22"),
    "qwen3_5": ("", "0.5.16"),
    "qwen3_5_moe": ("", "0.5.16"),
    "interns2_mobius": ("", "0.5.18"),
    "kimi_k3": ("", "0.5.18"),
    "muse_glimmer": ("", "0.5.18"),
    "paddleocr_vl": ("", "0.5.19"),
    "glm5_next": ("", "0.5.20"),
    "qwen4_exp": ("", "0.5.22"),
    "muse_spark": ("", "0.5.23"),
}
NOT_COMPILED = ("deepseek_v4", "qwen3_next", "bailing_moe_v2_5")
NOT_COMPILED_BEFORE_0_5_13 = ("deepseek_v32", "glm_moe_dsa")


def reserve_mib(scenario: Scenario, spec: ModelSpec, traits: Traits, rules: Rules, card: Card, chunk: int) -> int:
    """MiB left free for the graphs of prefill: 8 for each size up to a chunk, or 1,536 under latent attention."""
    if not captures(scenario, spec, traits, rules, card):
        return 0
    if traits.latent or traits.compressed:
        return LATENT_MIB
    longest = 4096 if "llama-2" in scenario.model.lower() else chunk
    if rules.since("0.5.13") and not rules.since("0.5.17"):
        longest = min(longest, scenario.max_model_len or longest)
    return EACH_MIB * sizes_to(min(longest, chunk))


def sizes_to(longest: int) -> int:
    """How many numbers of tokens are captured."""
    last = GRIDS[-1][1]
    within = sum(max(0, (min(longest, end) - first) // step + 1) for first, end, step in GRIDS)
    return within + max(0, (longest - last) // LAST_STEP)


def captures(scenario: Scenario, spec: ModelSpec, traits: Traits, rules: Rules, card: Card) -> bool:
    if not rules.since("0.5.10") or not card.nvidia:
        return False
    if scenario.enforce_eager and rules.since("0.5.14"):
        return False
    compiled = not rules.since("0.5.15")
    if traits.multimodal:
        since_compiled, since_broken = MULTIMODAL_SINCE.get(spec.model_type, ("", ""))
        broken = since_broken != "" and rules.since(since_broken)
        compiled = not broken and since_compiled != "" and rules.since(since_compiled)
        if not (broken or compiled):
            return False
    return _compiles(scenario, spec, rules) if compiled else _breaks(scenario, spec, traits, rules)


def _compiles(scenario: Scenario, spec: ModelSpec, rules: Rules) -> bool:
    if spec.model_type in NOT_COMPILED:
        return False
    if spec.model_type in NOT_COMPILED_BEFORE_0_5_13 and not rules.since("0.5.13"):
        return False
    if scenario.speculative and not rules.since("0.5.11"):
        return False
    return not (
        scenario.dp_attention
        or scenario.pipeline_parallel > 1
        or scenario.lora
        or scenario.cpu_offload_bytes
        or scenario.decode_context_parallel > 1
    )


def _breaks(scenario: Scenario, spec: ModelSpec, traits: Traits, rules: Rules) -> bool:
    if traits.compressed or scenario.decode_context_parallel > 1:
        return False
    if scenario.pipeline_parallel > 1 and rules.since("0.5.19"):
        return False
    if (scenario.lora or scenario.dp_attention) and not rules.since("0.5.17"):
        return False
    if traits.latent and not rules.since("0.5.18") and not (traits.indexer and rules.since("0.5.17")):
        return False
    if spec.model_type == "nemotron_h" and rules.since("0.5.17") and not rules.since("0.5.18"):
        return False
    delta = traits.kda and rules.since("0.5.20")
    return not delta or (spec.model_type == "glm5_next" and rules.since("0.5.23"))
