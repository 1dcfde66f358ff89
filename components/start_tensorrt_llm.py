"""TensorRT-LLM's start command: tensorrt_llm/commands/serve.py, and a file of the options of llmapi/llm_args.py.

kv_cache_config of the file replaces what flags say of it, so that the fraction goes there beside its other options.
"""

import json
import shlex

from components.start_flags import Flags, lines, long, parallel, settings, with_length
from model_catalog.spec import Attention, ModelSpec
from sizing.engines.plan import EnginePlan
from sizing.engines.tensorrt_llm.drafts import TYPES
from sizing.scenario import KvFormats, Scenario, Speculative

PARALLEL = {"tensor_parallel": "--tp_size", "pipeline_parallel": "--pp_size"}
OPTIONS_FILE = "options.yaml"


def start_tensorrt_llm(asked: Scenario, planned: EnginePlan) -> str:
    cache = _cache(asked, planned)
    kept = asked.model_copy(update={"memory_fraction": None}) if cache else asked
    flags = list(_flags(kept, planned))
    start = f"trtllm-serve {shlex.quote(asked.model)}"
    options = [*cache, *_others(asked)]
    if not options:
        return lines(start, flags)
    flags.append(("--extra_llm_api_options", OPTIONS_FILE))
    written = "\n".join(options)
    return f"cat > {OPTIONS_FILE} <<'END'\n{written}\nEND\n{lines(start, flags)}"


def _flags(asked: Scenario, planned: EnginePlan) -> Flags:
    yield from parallel(asked, PARALLEL)
    yield from settings(with_length(asked, planned))
    if asked.expert_parallel:
        yield "--ep_size", str(asked.tensor_parallel)


def _cache(asked: Scenario, planned: EnginePlan) -> list[str]:
    found = []
    if asked.kv_dtype != "auto" and not isinstance(asked.kv_dtype, KvFormats):
        found.append(f"  dtype: {long(asked.kv_dtype)}")
    if asked.block_size is not None:
        found.append(f"  tokens_per_block: {asked.block_size}")
    if asked.prefix_caching is not None:
        found.append(f"  enable_block_reuse: {str(asked.prefix_caching).lower()}")
    if asked.hybrid_kv_cache_manager is not None:
        longest = planned.scenario.max_model_len or 1
        windows = _windows(planned.spec, longest) if asked.hybrid_kv_cache_manager else [longest]
        found.append(f"  max_attention_window: {windows}")
    if found and asked.memory_fraction is not None:
        found.append(f"  free_gpu_memory_fraction: {asked.memory_fraction:g}")
    return ["kv_cache_config:", *found] if found else []


def _windows(spec: ModelSpec, longest: int) -> list[int]:
    """Of every layer with attention."""
    mixers = (mixer for run in spec.layers for mixer in run.layer.mixers * run.count)
    return [min(mixer.window or longest, longest) for mixer in mixers if isinstance(mixer, Attention)]


def _others(asked: Scenario) -> list[str]:
    found = []
    if asked.dp_attention:
        found.append("enable_attention_dp: true")
    if asked.enforce_eager:
        found.append("cuda_graph_config: null")
    return [*found, *(_drafts(asked.speculative) if asked.speculative else [])]


def _drafts(drafter: Speculative) -> list[str]:
    method = TYPES.get(drafter.method.lower(), drafter.method)
    number = "num_nextn_predict_layers" if method == "MTP" else "max_draft_len"
    found = ["speculative_config:", f"  decoding_type: {method}", f"  {number}: {drafter.tokens}"]
    return [*found, f"  speculative_model_dir: {json.dumps(drafter.model)}"] if drafter.model else found
