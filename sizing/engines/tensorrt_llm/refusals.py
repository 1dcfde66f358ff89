"""Settings that TensorRT-LLM has not, or turns away at start-up, with its reason."""

from model_catalog.spec import CompressedAttention, ModelSpec
from sizing.cache_formats import DS_MLA, CacheFormats, cache_formats
from sizing.engines.foreign import check_foreign
from sizing.engines.tensorrt_llm.rules import Rules
from sizing.resolve import too_long
from sizing.scenario import KvFormats, Scenario, ScenarioError

KV_DTYPES = ("auto", "bf16", "fp16", "fp8", "nvfp4", "int8")


def check(scenario: Scenario, spec: ModelSpec, rules: Rules) -> None:
    """Raises ScenarioError at the field at fault."""
    check_foreign(scenario, "tensorrt-llm")
    if scenario.lora:
        raise ScenarioError("lora", "The adapter slots of TensorRT-LLM are not modelled here.")
    _check_memory(scenario)
    _check_parallel(scenario)
    if scenario.hybrid_kv_cache_manager and not rules.window_pools:
        raise ScenarioError(
            "hybrid_kv_cache_manager", "This TensorRT-LLM release has one pool for layers of all windows."
        )
    if too_long(scenario, spec):
        raise ScenarioError(
            "context_length",
            f"TensorRT-LLM rejects requests longer than max_seq_len, here {scenario.max_model_len:,} tokens.",
        )


def _check_memory(scenario: Scenario) -> None:
    if scenario.memory_fraction == 1:
        raise ScenarioError("memory_fraction", "TensorRT-LLM needs free_gpu_memory_fraction to be smaller than 1.")
    block = scenario.block_size
    if block is not None and block & (block - 1):
        raise ScenarioError("block_size", "TensorRT-LLM needs tokens_per_block to be a power of 2.")


def _check_parallel(scenario: Scenario) -> None:
    if scenario.decode_context_parallel > 1:
        raise ScenarioError(
            "decode_context_parallel",
            "TensorRT-LLM shares out the tokens of a sequence over GPUs of their own (Helix), which is not modelled.",
        )
    if scenario.dp_attention and scenario.data_parallel != scenario.tensor_parallel:
        raise ScenarioError(
            "data_parallel",
            "With attention data parallelism each of TensorRT-LLM's tensor-parallel ranks is a replica: data_parallel "
            f"has to be {scenario.tensor_parallel}, as tensor_parallel is.",
        )


def formats_of(scenario: Scenario, spec: ModelSpec, rules: Rules) -> CacheFormats:
    """Raises ScenarioError for a format that this release has not."""
    if isinstance(scenario.kv_dtype, KvFormats):
        raise ScenarioError("kv_dtype", "TensorRT-LLM keeps keys and values in one format.")
    formats = cache_formats(scenario, spec)
    compressed = spec.has(CompressedAttention)
    known = [name for name in KV_DTYPES if name != "int8" or rules.int8]
    known = [name for name in known if name != "nvfp4" or rules.nvfp4]
    if formats.key not in known and not (compressed and formats.key == DS_MLA):
        raise ScenarioError(
            "kv_dtype",
            f'This TensorRT-LLM release has no cache format "{formats.key}". It has {", ".join(known)}.',
        )
    return formats
