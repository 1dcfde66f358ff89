"""Settings that llama.cpp has not, or turns away at start-up, with its reason."""

from model_catalog.spec import Attention, ModelSpec
from sizing.engines.llama_cpp.rules import LATENT_ONCE, OVERRIDES, WITHOUT_ROWS, Rules
from sizing.formats import FORMATS, SAME
from sizing.media.limits import tower_kinds, unused_towers
from sizing.scenario import MOST_DEVICES, KvFormats, Scenario, ScenarioError
from sizing.weights.linears import has_experts

# common/arg.cpp kv_cache_types
KV_DTYPES = ("auto", "f16", "bf16", "f32", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl")
QUANTISED = frozenset(name for name in KV_DTYPES if name in FORMATS and FORMATS[name].block > 1)
FOREIGN = {
    "memory_fraction": "llama.cpp takes no share of the memory: it uses all of it but a margin of 1 GiB.",
    "decode_context_parallel": "llama.cpp does not share out the tokens of a sequence.",
    "expert_parallel": "llama.cpp splits a model by layers and not by experts.",
    "dp_attention": "llama.cpp has no data-parallel attention.",
    "block_size": "llama.cpp keeps its cache in cells of one token and has no blocks.",
    "enforce_eager": "llama.cpp has no such setting.",
    "hybrid_kv_cache_manager": "llama.cpp has no such setting.",
    "chunked_prefill_size": "llama.cpp has no such setting; its physical batch is ubatch_size.",
    "swa_full_tokens_ratio": "llama.cpp has no such setting; swa_full keeps windows at full length.",
    "mamba_full_memory_ratio": "llama.cpp keeps one state for each slot and splits no memory between them and tokens.",
    "max_mamba_cache_size": "llama.cpp keeps one state for each slot, and more only for drafts.",
    "cpu_offload_bytes": "llama.cpp offloads whole layers; set gpu_layers.",
    "pooling": "llama.cpp loads the same tensors to give embeddings.",
    "lora": "llama.cpp loads adapters from files and keeps no slots for them.",
}


SMALLEST_SHARE = 2.0**-126  # std::stof takes no smaller number
UNSUPPORTED = frozenset({"whisper", "mllama", "xlstm", "recurrent_gemma"})


def check(scenario: Scenario, spec: ModelSpec, rules: Rules) -> None:
    """Raises ScenarioError at the field at fault."""
    if spec.model_type in UNSUPPORTED:
        raise ScenarioError("model", f"llama.cpp has no architecture for {spec.model_type} models.")
    for field, reason in FOREIGN.items():
        value = getattr(scenario, field)
        if value is not False and value != Scenario.model_fields[field].default:
            raise ScenarioError(field, reason)
    _check_media(scenario, spec)
    if scenario.state_dtype != "auto":
        raise ScenarioError("state_dtype", "llama.cpp keeps recurrent state in f32 always.")
    if scenario.tensor_parallel * scenario.pipeline_parallel > MOST_DEVICES:
        field = "tensor_parallel" if scenario.tensor_parallel > 1 else "pipeline_parallel"
        raise ScenarioError(field, f"llama.cpp splits a model over {MOST_DEVICES} devices at most.")
    _check_experts(scenario, spec, rules)
    _check_split(scenario, rules)
    if scenario.kv_unified is False and not rules.streams:
        raise ScenarioError("kv_unified", "This build has one cache for all sequences and no other.")
    if scenario.swa_full and not rules.windows:
        raise ScenarioError("swa_full", "This build keeps every layer at full length and has no such setting.")


def _check_experts(scenario: Scenario, spec: ModelSpec, rules: Rules) -> None:
    if not scenario.cpu_moe_layers:
        return
    if not has_experts(spec):
        raise ScenarioError("cpu_moe_layers", "This model has no experts that could stay in host memory.")
    if rules.when < OVERRIDES and rules.wording != "fork":
        raise ScenarioError("cpu_moe_layers", "This build cannot keep experts apart from their layers.")


def _check_split(scenario: Scenario, rules: Rules) -> None:
    gpus, split = scenario.tensor_parallel * scenario.pipeline_parallel, scenario.tensor_split
    if scenario.split_mode == "tensor":
        raise ScenarioError("split_mode", "llama.cpp's split by tensors is experimental and not modelled here.")
    if scenario.split_mode == "none" and gpus > 1:
        raise ScenarioError("split_mode", f"Without a split llama.cpp uses one GPU, and {gpus} are asked for.")
    if scenario.split_mode == "row" and rules.when >= WITHOUT_ROWS:
        raise ScenarioError("split_mode", "Builds since mid 2026 have no split by rows any more (pull request 24216).")
    for field, given in (("tensor_split", split), ("memory_by_gpu", scenario.memory_by_gpu)):
        if given is not None and len(given) != gpus:
            count = f"{len(given)} {'share' if given is split else 'size'}{'s' if len(given) > 1 else ''}"
            raise ScenarioError(field, f"{count} for {gpus} GPU{'s' if gpus > 1 else ''}; one for each is needed.")
    if scenario.memory_by_gpu and scenario.total_memory_bytes:
        raise ScenarioError("memory_by_gpu", "total_memory_bytes is the size of every GPU; leave out one of the two.")
    if split is not None and not any(split):
        raise ScenarioError("tensor_split", "At least one of the shares has to be more than 0.")
    if split is not None and any(0 < share < SMALLEST_SHARE for share in split):
        raise ScenarioError("tensor_split", "llama.cpp reads shares as 32-bit floats, and one of these is too small.")


def _check_media(scenario: Scenario, spec: ModelSpec) -> None:
    limits = scenario.media_limits
    if limits and (any(limits.model_dump().values()) or unused_towers(limits, spec) != tower_kinds(spec)):
        raise ScenarioError(
            "media_limits",
            "llama.cpp limits none. One projector file (mmproj) holds all encoders: 0 of every kind leaves it out.",
        )


def cache_types(scenario: Scenario, spec: ModelSpec, rules: Rules, flash: bool) -> tuple[str, str]:
    """-ctk and -ctv as names of formats; f16 unless set. Raises ScenarioError for types that cannot be had."""
    asked = scenario.kv_dtype
    key, value = (_type(name) for name in ((asked.k, asked.v) if isinstance(asked, KvFormats) else (asked, asked)))
    if value in QUANTISED and not flash:
        off = "is off" if scenario.flash_attention is False else "this build leaves off unless it is asked for"
        raise ScenarioError("kv_dtype", f"A {value} value cache needs flash attention, which {off}.")
    if rules.when >= LATENT_ONCE and rules.wording != "fork":
        _check_heads(spec, key, value)
    return key, value


def _type(name: str) -> str:
    plain = SAME.get(name, name)
    if plain == "auto":
        return "fp16"
    if plain not in QUANTISED and plain not in ("fp16", "bf16", "fp32"):
        raise ScenarioError("kv_dtype", f"llama.cpp has no cache type {name[:40]}. It has {', '.join(KV_DTYPES[1:])}.")
    return plain


def _check_heads(spec: ModelSpec, key: str, value: str) -> None:
    """A head must fill whole blocks (llama_init_from_model)."""
    heads = [mixer for mixer in spec.mixers() if isinstance(mixer, Attention)]
    for name, dim in [(key, mixer.head_dim) for mixer in heads] + [(value, mixer.value_dim) for mixer in heads]:
        if name in QUANTISED and dim % FORMATS[name].block:
            raise ScenarioError(
                "kv_dtype", f"Heads of {dim} elements do not fill the blocks of {FORMATS[name].block} of {name}."
            )
