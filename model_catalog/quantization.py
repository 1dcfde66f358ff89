"""How a checkpoint says that its weights are stored: quantization_config, in the words of the precisions.

Formats: transformers 5.24.0 utils/quantization_config.py (fp8, awq, gptq, mxfp4, bitsandbytes, fbgemm_fp8),
compressed-tensors' config_groups, and the quant_algo of NVIDIA ModelOpt's hf_quant_config.json.
"""

from collections.abc import Callable, Iterable
from typing import Any

from model_catalog.fields import Fields
from model_catalog.spec import Quantization

# quantization_config inside a decoder's nested config is as good as one outside (Kimi-K2.5).
NESTED = ("text_config", "language_config", "llm_config", "thinker_config")
SKIPPED_FIELDS = (
    "ignore",
    "exclude_modules",
    "modules_to_not_convert",
    "ignored_layers",
    "llm_int8_skip_modules",
)
FBGEMM = "fbgemm_fp8"
MOST_NAMES = 65_536
MOST_GROUPS = 64

DTYPES = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32", "half": "fp16", "bf16": "bf16", "fp16": "fp16"}
MODELOPT = {
    "FP8": "fp8-tensor",
    "FP8_PER_CHANNEL_PER_TOKEN": "fp8",
    "FP8_PB_WO": "fp8-block",
    "FP8_PB_REAL": "fp8-block",
    "MXFP8": "mxfp8",
    "NVFP4": "nvfp4",
    "NVFP4_AWQ": "nvfp4",
    "W4A16_NVFP4": "nvfp4",
    "W4A8_NVFP4_FP8": "nvfp4",
    "MXFP4": "mxfp4",
    "W4A8_MXFP4_FP8": "mxfp4",
    "W4A16_AWQ": "awq-int4",
    "W4A8_AWQ": "awq-int4",
    "INT8_SQ": "int8",
}
MODELOPT_NARROWEST_FIRST = ("nvfp4", "mxfp4", "awq-int4", "mxfp8", "fp8-block", "fp8", "fp8-tensor", "int8")
Method = tuple[str, int]  # a precision, and the size of its groups where that is not its usual one


def dtype_of(f: Fields) -> str:
    """The format of what is not quantised: dtype or torch_dtype, of the file or of the decoder inside it.

    Unstated is bf16, which vLLM and SGLang load such checkpoints in.
    """
    stated = _stated_dtype(f)
    if stated is None:
        return "bf16"
    known = DTYPES.get(str(stated).removeprefix("torch."))
    if known is None:
        f.doubt("dtype", f'Weights in "{str(stated)[:40]}" are not known here; they are counted in 16 bits.', kv=False)
    return known or "bf16"


def _stated_dtype(f: Fields) -> Any:
    parts = [f.data, *(f.data[name] for name in NESTED if isinstance(f.data.get(name), dict))]
    stated = (part.get(name) for part in parts for name in ("dtype", "torch_dtype"))
    return next((each for each in stated if each not in (None, "auto")), None)


def read_quantization(f: Fields) -> Quantization | None:
    """The quantization that the config states, or None. What is not understood is doubted, and not counted."""
    q = quantization_part(f)
    if q is None:
        return None
    found = _method(q)
    if found is None:
        return None
    method, group = found
    skipped = _skipped(q) or (_left_by_meta(f) if q.text("quant_method") == FBGEMM else ())
    return Quantization(method=method, skipped=skipped, group_size=group, kv_cache=_kv_cache(q))


def _left_by_meta(f: Fields) -> tuple[str, ...]:
    """What Meta's checkpoints of this method leave in 16 bits where their config does not say: attention, and the
    first and the last layer. The 405,868,625,920 elements of Llama-3.1-405B-Instruct-FP8 are the 405,853,388,800 of
    the model and a scale for each row of the feed-forwards of 124 of the 126 layers.
    """
    last = f.whole("num_hidden_layers", 0) - 1
    return ("self_attn", "layers.0", f"layers.{last}")


def quantization_part(f: Fields) -> Fields | None:
    """quantization_config or the older compression_config, of the file or of the decoder inside it."""
    for name in ("quantization_config", "compression_config"):
        if f.raw(name) is not None:
            return f.part(name)
    for name in NESTED:
        inner = f.part(name) if isinstance(f.data.get(name), dict) else None
        if inner is not None and inner.raw("quantization_config") is not None:
            return inner.part("quantization_config")
    return None


def _method(q: Fields) -> Method | None:
    name = q.text("quant_method").lower().replace("_", "-")
    if not name and q.raw("quant_algo") is not None:
        name = "modelopt"
    if not name and (q.raw("load_in_4bit") is not None or q.raw("load_in_8bit") is not None):
        name = "bitsandbytes"
    read = METHODS.get(name)
    if read is None:
        return _unknown(q, "quant_method", f'Weights stored as "{name[:60]}" are not known here')
    return read(q)


def _unknown(q: Fields, field: str, sentence: str) -> Method | None:
    q.doubt(field, f"{sentence}; they are counted unquantised.", kv=False)
    return None


def _fp8(q: Fields) -> Method | None:
    """Blocks of 128 × 128 with a scale each, or one scale for each tensor where weight_block_size is null."""
    block = q.items("weight_block_size", int, most=2)
    if block is None:
        return "fp8-tensor", 0
    if block != [128, 128]:
        q.doubt("weight_block_size", "Blocks that are not 128 × 128 are counted as if they were.", kv=False)
    return "fp8-block", 0


def _fbgemm(q: Fields) -> Method:
    """One scale for each output row."""
    return "fp8", 0


def _awq(q: Fields) -> Method | None:
    if q.whole("bits", q.whole("w_bit", 4)) != 4:
        return _unknown(q, "bits", "AWQ weights of other than 4 bits are not known here")
    return "awq-int4", _group(q, "group_size" if q.has("group_size") else "q_group_size")


def _gptq(q: Fields) -> Method | None:
    bits = q.whole("bits", 4)
    if bits not in (4, 8):
        return _unknown(q, "bits", f"GPTQ weights of {bits} bits are not known here")
    if q.raw("dynamic") or q.raw("modules_in_block_to_quantize"):
        q.doubt("dynamic", "Layers with GPTQ settings of their own are counted like the others.", kv=False)
    return f"gptq-int{bits}", _group(q, "group_size")


def _group(q: Fields, name: str) -> int:
    """The stated group, 128 where none is; −1, the whole row, is counted as groups of 128, and doubted."""
    if q.raw(name) == -1:
        q.doubt(name, "A group that spans the whole row is counted as groups of 128.", kv=False)
        return 128
    return q.whole(name, 128)


def _mxfp4(q: Fields) -> Method:
    return "mxfp4", 0


def _bitsandbytes(q: Fields) -> Method | None:
    if q.flag("load_in_8bit"):
        return "bnb-int8", 0
    if not q.flag("load_in_4bit"):
        return _unknown(q, "load_in_4bit", "Neither load_in_4bit nor load_in_8bit is on")
    if q.flag("bnb_4bit_use_double_quant"):
        q.doubt("bnb_4bit_use_double_quant", "Scales are counted in 32 bits, as without double quantization.", kv=False)
    return "bnb-nf4", 0


def _modelopt(q: Fields) -> Method | None:
    inner = q.part("quantization") or q
    algorithm = inner.text("quant_algo").upper()
    if algorithm == "MIXED_PRECISION":
        return _narrowest(inner)
    method = MODELOPT.get(algorithm)
    if method is None:
        return _unknown(inner, "quant_algo", f'The ModelOpt format "{algorithm[:60]}" is not known here')
    return method, 0


def _narrowest(q: Fields) -> Method | None:
    """The format that a mixed checkpoint is named after; mixed_formats says which layers have which."""
    methods = {method for _, method in quantized_layers(q)}
    found = next((method for method in MODELOPT_NARROWEST_FIRST if method in methods), None)
    return (found, 0) if found else _unknown(q, "quantized_layers", "No layer of the mixed formats is understood")


def quantized_layers(q: Fields) -> list[tuple[str, str]]:
    """Module names or patterns of a mixed ModelOpt checkpoint with the precision of each."""
    stated = q.raw("quantized_layers")
    if not isinstance(stated, dict) or len(stated) > MOST_NAMES:
        return []
    known = ((name, MODELOPT.get(_algorithm(rule))) for name, rule in stated.items())
    return [(name, method) for name, method in known if method]


def _algorithm(rule: Any) -> str:
    return str(rule.get("quant_algo")).upper() if isinstance(rule, dict) else ""


def _compressed_tensors(q: Fields) -> Method | None:
    """The group that targets linear layers; groups for chosen layers beside it are not told apart."""
    groups = _groups(q)
    if not groups:
        return _unknown(q, "config_groups", "No group of layers is described")
    methods = {method for group in groups if (method := _group_method(q, group)) is not None}
    if not methods:
        return _unknown(q, "config_groups", "The format of the weights is not known here")
    if len(methods) > 1:
        q.doubt("config_groups", "Layers in several formats are counted as if all were in one.", kv=False)
    sparsity = q.raw("sparsity_config")
    if isinstance(sparsity, dict) and sparsity.get("format") not in (None, "dense"):
        q.doubt("sparsity_config", "Sparse weights are counted as dense ones.", kv=False)
    return sorted(methods)[0]


def _groups(q: Fields) -> list[Fields]:
    groups = q.raw("config_groups")
    if not isinstance(groups, dict) or len(groups) > MOST_GROUPS:
        return []
    parts = (Fields(groups, "", f"{q.path}config_groups.").part(name) for name in groups)
    return [part for part in parts if part is not None]


def _group_method(q: Fields, group: Fields) -> Method | None:
    w = group.part("weights")
    if w is None:
        return None
    return _packing(w.text("type", "int"), w.whole("num_bits", 8), w.text("strategy"), w.raw("group_size"), w)


def _packing(kind: str, bits: int, strategy: str, group: Any, w: Fields) -> Method | None:
    symmetric = w.flag("symmetric", True)
    match kind, bits, strategy, group:
        case "float", 8, "tensor", _:
            return "fp8-tensor", 0
        case "float", 8, "block", _:
            return "fp8-block", 0
        case "float", 8, "group", 32:
            return "mxfp8", 0
        case "float", 8, ("channel" | "token" | ""), _:
            return "fp8", 0
        case "float", 4, _, 32:
            return "mxfp4", 0
        case "float", 4, _, (16 | None):
            return "nvfp4", 0
        case "int", 8, ("channel" | "token" | "tensor" | ""), _:
            return "int8", 0
        case "int", 4, _, int() if group > 0:
            return ("int4-group32" if symmetric else "awq-int4"), group
    return None


def _skipped(q: Fields) -> tuple[str, ...]:
    """Names left in 16 bits. Where experts were converted from a block-FP8 checkpoint, those names stay in its FP8."""
    if q.raw("weight_block_size") is not None and q.raw("quantized_layers") is not None:
        return ()
    names: Iterable[str] = (name for part in (q, q.part("quantization")) if part for name in _names(part))
    return tuple(dict.fromkeys(names))


def _names(q: Fields) -> list[str]:
    return [name for field in SKIPPED_FIELDS for name in q.items(field, str, most=MOST_NAMES) or ()]


def _kv_cache(q: Fields) -> str | None:
    """The cache format that the checkpoint pins."""
    scheme = q.part("kv_cache_scheme")
    if scheme is not None:
        known = {("float", 8): "fp8", ("int", 8): "int8", ("float", 4): "nvfp4"}
        stated = known.get((scheme.text("type", "float"), scheme.whole("num_bits", 8)))
        return stated or _unknown_cache(q, "kv_cache_scheme")
    algorithm = (q.part("quantization") or q).text("kv_cache_quant_algo").upper()
    if algorithm in ("", "NONE"):
        return None
    return {"FP8": "fp8", "INT8": "int8", "NVFP4": "nvfp4"}.get(algorithm) or _unknown_cache(q, "kv_cache_quant_algo")


def _unknown_cache(q: Fields, field: str) -> str | None:
    q.doubt(field, "The cache format that the checkpoint asks for is not known here; it is left out.", weights=False)
    return None


METHODS: dict[str, Callable[[Fields], Method | None]] = {
    "fp8": _fp8,
    "fbgemm-fp8": _fbgemm,
    "compressed-tensors": _compressed_tensors,
    "modelopt": _modelopt,
    "modelopt-fp4": _modelopt,
    "modelopt-mixed": _modelopt,
    "awq": _awq,
    "gptq": _gptq,
    "mxfp4": _mxfp4,
    "bitsandbytes": _bitsandbytes,
}
