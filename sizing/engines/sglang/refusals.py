"""Settings that SGLang does not have or refuses at start-up, each with the reason."""

from model_catalog.spec import ModelSpec
from sizing.cache_formats import DS_MLA, resolve_kv
from sizing.engines.foreign import check_foreign
from sizing.engines.sglang.rows import ELEMENT, FP4
from sizing.engines.sglang.rules import Rules
from sizing.engines.sglang.traits import Traits
from sizing.formats import SAME
from sizing.scenario import KvFormats, Scenario, ScenarioError, StateFormats
from sizing.units import GIB

KV_DTYPES = ("auto", "bf16", "fp16", "fp8_e4m3", "fp8_e5m2", "fp4_e2m1", "nvfp4", "mxfp8")
BLOCK_SCALED = (*FP4, "mxfp8")
FOREIGN = {
    "media_limits": "SGLang loads its encoders whatever inputs are allowed.",
    "pooling": "SGLang loads the same tensors to give embeddings.",
    "memory_by_gpu": "GPUs of different sizes are modelled for llama.cpp alone.",
}
# The first released package whose server_args.py has the option, of those that were read.
SINCE = {
    "pipeline_parallel": "0.4.6",
    "lora": "0.4.10",
    "swa_full_tokens_ratio": "0.4.10",
    "hybrid_kv_cache_manager": "0.4.10",
    "state_dtype": "0.5.2",
    "max_mamba_cache_size": "0.5.2",
    "mamba_full_memory_ratio": "0.5.4",
    "decode_context_parallel": "0.5.15",
}
STATE_ELEMENT = {"fp32": 4, "bf16": 2, "fp16": 2}


def cache_format(scenario: Scenario, spec: ModelSpec, traits: Traits, rules: Rules, blackwell: bool) -> str:
    """The format of the cache. `auto`: what the checkpoint pins, fp8 for sparse MLA on Blackwell, else 16 bits."""
    asked = scenario.kv_dtype
    if isinstance(asked, KvFormats):
        if asked.k != asked.v:
            raise ScenarioError("kv_dtype", "SGLang keeps keys and values in one format.")
        asked = asked.k
    name = _auto(spec, traits, blackwell) if asked == "auto" else SAME.get(asked, asked)
    if name not in ELEMENT or (name == DS_MLA and not (traits.compressed or traits.indexer)) or name == "fp32":
        raise ScenarioError("kv_dtype", f'SGLang has no cache format "{name}". It has {", ".join(KV_DTYPES)}.')
    if name in BLOCK_SCALED and not rules.fp4:
        raise ScenarioError("kv_dtype", f"This release of SGLang has no {name} cache.")
    if traits.compressed and name not in ("fp8", DS_MLA):
        raise ScenarioError(
            "kv_dtype", "SGLang keeps the cache of this model in its own fp8 layout only; leave it auto."
        )
    return DS_MLA if name == "fp8" and (traits.compressed or traits.indexer) else name


def _auto(spec: ModelSpec, traits: Traits, blackwell: bool) -> str:
    resolved = resolve_kv("auto", spec)
    if traits.indexer and blackwell and resolved in ("bf16", "fp16"):  # receipt s026: B200, 788 bytes
        return "fp8"
    return resolved if resolved in ELEMENT else "bf16"


def state_bytes(scenario: Scenario) -> tuple[int, int]:
    """Bytes an element of convolution and recurrent state; 0 leaves them to the model."""
    asked = scenario.state_dtype
    if not isinstance(asked, StateFormats):
        return 0, 0
    plain = [SAME.get(name, name) for name in (asked.conv, asked.recurrent)]
    for name in plain:
        if name not in STATE_ELEMENT:
            raise ScenarioError("state_dtype", f'"{name}" is not a state format of SGLang. It has fp32, bf16 and fp16.')
    return STATE_ELEMENT[plain[0]], STATE_ELEMENT[plain[1]]


def check_release(scenario: Scenario, rules: Rules) -> None:
    """Raises ScenarioError for an option that came later."""
    for field, release in SINCE.items():
        if getattr(scenario, field) != Scenario.model_fields[field].default and not rules.since(release):
            raise ScenarioError(field, f"This release of SGLang has no such option; {release} has it.")


def check(scenario: Scenario, spec: ModelSpec, traits: Traits) -> None:
    """Raises ScenarioError for a combination that no release starts with, or a setting that SGLang does not have."""
    check_foreign(scenario, "sglang", FOREIGN)
    if (scenario.cpu_offload_bytes or 0) % GIB:
        raise ScenarioError("cpu_offload_bytes", "SGLang's --cpu-offload-gb takes whole GiB only.")
    if scenario.dp_attention and scenario.tensor_parallel % scenario.data_parallel:
        raise ScenarioError(
            "data_parallel",
            f"With data-parallel attention SGLang needs tensor_parallel ({scenario.tensor_parallel}) to be a multiple "
            f"of data_parallel ({scenario.data_parallel}).",
        )
