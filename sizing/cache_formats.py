"""The formats that one scenario's cache is kept in, and the bytes of each kind of entry in them."""

from dataclasses import dataclass

from model_catalog.spec import CompressedAttention, ModelSpec, Recurrent
from sizing.formats import FORMATS, SAME, TURBOQUANT, FormatError, format_named, turboquant_bytes
from sizing.scenario import KvFormats, Scenario, ScenarioError, StateFormats

DS_MLA = "fp8_ds_mla"
LATENT_FORMATS = (DS_MLA, "nvfp4_ds_mla")
KNOWN = (*FORMATS, *SAME, *TURBOQUANT, *LATENT_FORMATS)
STATE_FORMATS = ("fp32", "bf16", "fp16", "fp8")


@dataclass(frozen=True, slots=True)
class CacheFormats:
    """Names of the key and value formats, and bytes per element of the two kinds of recurrent state.

    `state_is_auto`: nobody chose the state's formats, so an engine's own rule for a kind of mixer applies.
    """

    key: str
    value: str
    conv_bytes: int = 2
    recurrent_bytes: int = 4
    state_is_auto: bool = True


def cache_formats(scenario: Scenario, spec: ModelSpec) -> CacheFormats:
    """Formats of a scenario with `auto` resolved. Raises ScenarioError for a format that is unknown."""
    chosen = scenario.kv_dtype
    key, value = (chosen.k, chosen.v) if isinstance(chosen, KvFormats) else (chosen, chosen)
    resolved = [_known(resolve_kv(name, spec)) for name in (key, value)]
    if resolved[0] != resolved[1] and any(name in (*TURBOQUANT, *LATENT_FORMATS) for name in resolved):
        raise ScenarioError("kv_dtype", f"{resolved[0]} and {resolved[1]} cannot be mixed.")
    state = scenario.state_dtype
    conv, recurrent = (state.conv, state.recurrent) if isinstance(state, StateFormats) else ("bf16", "fp32")
    auto = state == "auto"
    return CacheFormats(resolved[0], resolved[1], _state_bytes(conv), _state_bytes(recurrent), auto)


def resolve_kv(name: str, spec: ModelSpec) -> str:
    """`auto` is the format the checkpoint pins, else the model's own; float32 checkpoints are served as bfloat16."""
    if name != "auto":
        return SAME.get(name, name)
    if spec.has(CompressedAttention):
        return DS_MLA
    if spec.quantization and spec.quantization.kv_cache:
        return spec.quantization.kv_cache
    return "fp16" if spec.dtype == "fp16" else "bf16"


def _known(name: str) -> str:
    if name not in KNOWN:
        listed = ", ".join(["auto", *FORMATS])
        raise ScenarioError("kv_dtype", f'"{name}" is not a cache format that is known here. Known are {listed}.')
    return name


def _state_bytes(name: str) -> int:
    plain = SAME.get(name, name)
    if plain not in STATE_FORMATS:
        raise ScenarioError("state_dtype", f'"{name}" is not a state format. Known are {", ".join(STATE_FORMATS)}.')
    return format_named(plain).block_bytes


OWN_CONV_BYTES = {"fp32": 4, "int64": 8}


def own_conv_bytes(mixer: Recurrent, otherwise: int) -> int:
    """Bytes per element of the last inputs: a format of the model's own (Inkling: fp32), or what the scenario says."""
    return otherwise if mixer.conv_dtype is None else OWN_CONV_BYTES[mixer.conv_dtype]


def pair_bytes(formats: CacheFormats, heads: int, key_dim: int, value_dim: int) -> int:
    """Key and value of one token in one layer."""
    if formats.key in TURBOQUANT:
        return heads * turboquant_bytes(formats.key, key_dim, value_dim)
    key, value = _plain(formats.key), _plain(formats.value)
    return _row(key, heads, key_dim) + (_row(value, heads, value_dim) if value_dim else 0)


def latent_bytes(name: str, latent_dim: int, rope_dim: int) -> int:
    """The latent and the rotary key of one token (vLLM mla_attention.py; 512 + 64: 1,152, 656 and 352 bytes)."""
    if name == DS_MLA:
        return latent_dim + latent_dim // 128 * 4 + rope_dim * 2
    if name == "nvfp4_ds_mla":
        return latent_dim // 2 + latent_dim // 16 + rope_dim
    return _row(_plain(name), 1, latent_dim + rope_dim)


def compressed_bytes(name: str, head_dim: int, rope_dim: int) -> int:
    """One raw or compressed entry of DeepSeek-V4: fp8 with a scale byte per 64 (padded to 8) and 16-bit rotary part."""
    if name not in LATENT_FORMATS:
        return _row(_plain(name), 1, head_dim)
    plain = head_dim - rope_dim
    scales = -(-plain // 64)
    return plain + rope_dim * 2 + -(-scales // 8) * 8


def _plain(name: str) -> str:
    """Formats made for latent attention mean fp8 elsewhere; packed formats have no meaning for one vector."""
    if name in TURBOQUANT:
        raise ScenarioError("kv_dtype", f"{name} is not made for latent attention.")
    return "fp8" if name in LATENT_FORMATS else name


def _row(name: str, heads: int, dim: int) -> int:
    try:
        return format_named(name).row_bytes(heads, dim)
    except FormatError as error:
        raise ScenarioError("kv_dtype", f"{name} does not suit this model: {error}.") from None
