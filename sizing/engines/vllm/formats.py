"""The formats that vLLM keeps a model's cache in (config/cache.py, v1/kv_cache_interface.py)."""

from dataclasses import dataclass, replace

from model_catalog.spec import Attention, CompressedAttention, LatentAttention, ModelSpec, Recurrent
from sizing.cache_formats import DS_MLA, LATENT_FORMATS, CacheFormats, cache_formats
from sizing.engines.vllm.rules import Rules
from sizing.formats import TURBOQUANT, format_named
from sizing.scenario import KvFormats, Scenario, ScenarioError

PLAIN = ("auto", "bf16", "bfloat16", "fp16", "float16")
FP8 = ("fp8", "fp8_e4m3", "fp8_e5m2")
PER_HEAD = ("fp8_per_token_head", "int8_per_token_head", "int4_per_token_head")
NARROWEST = 32
KV_DTYPES = (*PLAIN, *FP8, *PER_HEAD, "nvfp4", "nvfp4_4over6", *TURBOQUANT, "ultraquant_4bit", *LATENT_FORMATS)
V0_DTYPES = (*PLAIN, *FP8)
MODEL_DTYPE_ONLY = ("falcon",)  # classes that do not hand the cache's format to their attention
GLM_SPARSE = ("glm_moe_dsa",)


@dataclass(frozen=True, slots=True)
class Formats:
    """`cache` for keys, values and states; `model` is the format of layers that keep the model's own dtype.

    `packed`: sparse latent attention stores fp8_ds_mla. `own_state`: the scenario or the engine's default says what
    the recurrent state is kept in, whatever the config says.
    """

    cache: CacheFormats
    model: str
    packed: bool
    own_state: bool

    def state_of(self, mixer: Recurrent, model_type: str) -> tuple[int, int]:
        """Bytes per element of the convolution window and of the recurrent state."""
        if self.own_state:
            return self.cache.conv_bytes, self.cache.recurrent_bytes
        return _bytes(mixer.conv_dtype or self.model), _bytes(_recurrent(mixer, model_type, self.model))


def _recurrent(mixer: Recurrent, model_type: str, model_dtype: str) -> str:
    """KDA and Nemotron-H keep fp32 states; others the config's choice, else the model's dtype (section 7)."""
    if mixer.kind == "kda":
        return "fp32"
    if mixer.state_dtype:
        return mixer.state_dtype
    return "fp32" if model_type == "nemotron_h" else model_dtype


def _bytes(name: str) -> int:
    return format_named(name).block_bytes


def formats_of(scenario: Scenario, spec: ModelSpec, rules: Rules, capability: tuple[int, int]) -> Formats:
    """Raises ScenarioError where vLLM has no such format, or not for this model."""
    asked = scenario.kv_dtype
    if isinstance(asked, KvFormats):
        raise ScenarioError("kv_dtype", "vLLM keeps keys and values in one format.")
    known = V0_DTYPES if rules.v0 else KV_DTYPES
    if asked not in known and asked != DS_MLA:  # which a resolved scenario of any release may name
        raise ScenarioError("kv_dtype", f'vLLM has no cache format "{asked[:60]}". It has {", ".join(known)}.')
    model = "fp16" if spec.dtype == "fp16" else "bf16"
    packed = _packed(asked, spec, rules, capability)
    name = DS_MLA if packed and asked != "nvfp4_ds_mla" else _resolved(asked, spec, capability)
    _check_latent(name, spec)
    _check_heads(name, spec)
    resolved = cache_formats(scenario.model_copy(update={"kv_dtype": name}), spec)
    return Formats(resolved, model, packed, scenario.state_dtype != "auto")


def _resolved(asked: str, spec: ModelSpec, capability: tuple[int, int]) -> str:
    """`auto` is the model's dtype, the checkpoint's pinned format, or fp8 for GLM-5 on SM10x; Falcon never heeds it."""
    if spec.model_type in MODEL_DTYPE_ONLY:
        return "auto"
    if asked == "auto" and spec.model_type in GLM_SPARSE and capability[0] == 10:
        return "fp8_e4m3"
    return asked


def _packed(asked: str, spec: ModelSpec, rules: Rules, capability: tuple[int, int]) -> bool:
    """DeepSeek-V4 always; sparse latent attention by the backend of the card (platforms/cuda.py, mla_attention.py):
    FlashMLA where `fp8` is asked for by that name, FlashInfer's of SM120 always, FlashInfer's of SM100 never.
    """
    mixers = list(spec.mixers())
    if any(isinstance(mixer, CompressedAttention) for mixer in mixers):
        return True
    if not any(isinstance(mixer, LatentAttention) and mixer.indexer for mixer in mixers):
        return False
    if asked in LATENT_FORMATS or (asked == "auto" and rules.sparse_packed):
        return True
    if capability[0] == 12 and rules.sparse_on_sm120:
        return asked in ("auto", "fp8", "fp8_e4m3")
    return asked == "fp8" and not (capability[0] == 10 and rules.sparse_on_sm100)


def _check_latent(name: str, spec: ModelSpec) -> None:
    if name not in LATENT_FORMATS:
        return
    if not spec.has(LatentAttention, CompressedAttention):
        raise ScenarioError("kv_dtype", f"{name} is made for latent attention, which this model does not have.")


def _check_heads(name: str, spec: ModelSpec) -> None:
    """Triton alone runs formats with a scale for each head (v1/attention/backends/triton_attn.py)."""
    if name in PER_HEAD and any(mixer.head_dim < NARROWEST for mixer in plain_attention(spec)):
        raise ScenarioError("kv_dtype", f"{name} needs heads of at least {NARROWEST} elements.")


def plain_attention(spec: ModelSpec) -> list[Attention]:
    return [mixer for mixer in spec.mixers() if isinstance(mixer, Attention)]


def in_model_dtype(formats: Formats) -> CacheFormats:
    """The same with keys and values in the model's own dtype (layers that TurboQuant skips)."""
    return replace(formats.cache, key=formats.model, value=formats.model)
