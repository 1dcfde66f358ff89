"""gpt-oss's MXFP4 experts as TensorRT-LLM holds them: padded, by the backend that runs them.

Sources: _torch/modules/fused_moe/quantization.py (MXFP4WeightFusedMoEMethod: weight_alignment 128) and
_torch/model_config.py resolve_moe_backend: CUTLASS, from 1.2 on Triton on SM90 and TensorRT-LLM's own on SM100.
The latter pads the hidden axis of gate and up to 512, of which 128 are counted here; Triton's layout is not known.
"""

from hardware_catalog.schema import Accelerator
from model_catalog.spec import ModelSpec
from sizing.engines.tensorrt_llm.rules import Rules
from sizing.engines.vllm.weights.held import Padding, held_spec
from sizing.scenario import Scenario
from sizing.weights.precisions import AUTO

ALIGNMENT = 128
HOPPER = 9


def with_padded_experts(
    scenario: Scenario, spec: ModelSpec, rules: Rules, accelerator: Accelerator | None
) -> ModelSpec:
    """The same model where nothing is padded. vLLM's classes differ from gpt-oss's checkpoint in the padding alone."""
    if spec.model_type != "gpt_oss" or not rules.pads_experts or not _in_mxfp4(scenario, spec):
        return spec
    capability = accelerator.compute_capability if accelerator else None
    if rules.chooses_backend and (capability is None or capability[0] == HOPPER):
        return spec
    slices = 1 if scenario.expert_parallel else scenario.placement.expert_ranks
    return held_spec(spec, Padding(ALIGNMENT * slices, ALIGNMENT))


def _in_mxfp4(scenario: Scenario, spec: ModelSpec) -> bool:
    if scenario.weights == AUTO:
        return spec.quantization is not None and spec.quantization.method == "mxfp4"
    return scenario.weights == "mxfp4"
