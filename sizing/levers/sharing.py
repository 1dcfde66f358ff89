"""How the same GPUs share the model: replicas of attention, and the tokens of a sequence."""

from model_catalog.spec import LatentAttention, ModelSpec
from sizing.levers.step import Step
from sizing.scenario import Scenario


def replicas(asked: Scenario, spec: ModelSpec) -> list[Step]:
    """Tensor parallelism of attention into replicas of it, and back; the number of GPUs stays."""
    ranks, replicas = asked.tensor_parallel, asked.data_parallel
    if asked.engine == "llama.cpp" or asked.pipeline_parallel > 1:
        return []
    if asked.dp_attention:
        return [Step(f"DP attention → TP {ranks}", {"dp_attention": False, "data_parallel": 1})]
    if replicas > 1:
        together = ranks * replicas
        return [Step(f"DP {replicas} → TP {together}", {"tensor_parallel": together, "data_parallel": 1})]
    if ranks == 1:
        return []
    if asked.engine in ("sglang", "tensorrt-llm"):
        return [Step(f"TP {ranks} → DP attention {ranks}", {"dp_attention": True, "data_parallel": ranks})]
    name = f"TP {ranks} → DP {ranks}{', expert parallel' if spec.is_mixture else ''}"
    return [Step(name, {"tensor_parallel": 1, "data_parallel": ranks, "expert_parallel": spec.is_mixture})]


def shared_tokens(asked: Scenario, spec: ModelSpec) -> list[Step]:
    """Decode context parallelism, where every rank holds the same latent."""
    if not spec.has(LatentAttention) or asked.engine != "vllm":
        return []
    sizes = [size for size in (2, 4, 8, 16) if asked.decode_context_parallel < size <= asked.tensor_parallel]
    return [Step(f"Decode context parallel {size}", {"decode_context_parallel": size}) for size in sizes]
