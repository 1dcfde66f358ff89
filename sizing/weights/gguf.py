"""GGUF files: which ggml type llama.cpp's quantizer gives each tensor.

Source: llama.cpp src/llama-quant.cpp, llama_tensor_get_type_impl and tensor_type_fallback (commit 007dbbf3).
IQ4_XS and IQ4_NL are counted as made with an importance matrix, as published files are; all others without.
"""

from itertools import accumulate

from model_catalog.spec import Attention, LatentAttention, ModelSpec
from model_catalog.tensors import Tensor, TensorClass
from sizing.weights.checkpoint import Rule
from sizing.weights.gguf_parts import JOINED_MODELS, Part, part_of
from sizing.weights.linears import is_linear
from sizing.weights.packing import GGML, Packing

DEFAULT_TYPE = {
    "gguf-f16": "f16",
    "gguf-bf16": "bf16",
    "q5_k_m": "q5_k",
    "q5_k_s": "q5_k",
    "q4_k_m": "q4_k",
    "q4_k_s": "q4_k",
    "q3_k_l": "q3_k",
    "q3_k_m": "q3_k",
    "q3_k_s": "q3_k",
}
# Where a row does not fill blocks of 256 elements.
NARROWER = {
    "iq4_xs": "iq4_nl",
    "q2_k": "q4_0",
    "q3_k": "q4_0",
    "q4_k": "q5_0",
    "q5_k": "q5_1",
    "q6_k": "q8_0",
}
PLAIN_PREDICTION = ("norm", "conv", "router", "gate.weight")  # what of prediction layers stays f32
UNMIXED = ("f16", "bf16", "q8_0")
EIGHT = 8  # Mixtral: the quantizer spends more bits on the attention of models with just eight experts
# Softmax attention with joined projections: the rule of the releases that made the published files.
JOINED_TYPES = {"q3_k_m": "q4_k", "q3_k_l": "q4_k", "q4_k_m": "q5_k", "q5_k_m": "q6_k"}


def more_bits(index: int, count: int) -> bool:
    """The first and last eighth of the layers, and every third between."""
    return index < count // 8 or index >= 7 * count // 8 or (index - count // 8) % 3 == 2


class GgufRule:
    """How the file of one precision stores each tensor of a model."""

    def __init__(self, spec: ModelSpec, precision: str) -> None:
        self._precision = precision
        self._default = DEFAULT_TYPE.get(precision, precision)
        self._joined = spec.model_type in JOINED_MODELS
        self._tied = spec.tied_embeddings
        self._falcon = spec.model_type == "falcon"
        self._layers = spec.num_layers + sum(t.layers for t in spec.towers if _predicts(t.tensors))
        self._experts = max(
            (run.layer.feed_forward.experts if run.layer.feed_forward else 0 for run in spec.layers),
            default=0,
        )
        self._shared_by = _queries_for_each_key(spec)
        grouped = self._shared_by > 1
        self._seventy = spec.model_type in ("llama", "qwen2") and spec.num_layers == 80 and grouped
        valued = [any(part_of(t) is Part.VALUE for t in layer.tensors) for layer in spec.each_layer()]
        self._values = sum(valued)
        self._value_index = [count - 1 for count in accumulate(valued)]

    def __call__(self, tensor: Tensor, layer: int | None) -> Packing:
        if tensor.kind in (TensorClass.VISION, TensorClass.AUDIO):
            return GGML["f32" if len(tensor.shape) == 1 else "f16"]
        part = self._part(tensor)
        ends = part in (Part.OUTPUT, Part.EMBEDDING) and "position" not in tensor.name
        if not ends and not _is_quantized(tensor):
            return GGML["f32"]
        index = self._layers - 1 if layer is None else layer
        return GGML[_fitting(self._type(part, index), tensor.shape[-1])]

    def _part(self, tensor: Tensor) -> Part:
        part = part_of(tensor)
        joined = self._joined and tensor.kind is TensorClass.ATTENTION and part is not Part.ATTENTION_OUTPUT
        return Part.JOINED if joined else part

    def _type(self, part: Part, layer: int) -> str:
        if self._default in UNMIXED:
            return self._default
        match part:
            case Part.OUTPUT:
                return self._output()
            case Part.EMBEDDING:
                return self._output() if self._tied else self._default
            case Part.VALUE:
                return self._value(layer)
            case Part.JOINED:
                return JOINED_TYPES.get(self._precision, self._default)
            case Part.KEY:
                return "q8_0" if self._experts == EIGHT else self._default
            case Part.DOWN:
                return self._down(layer)
            case Part.ATTENTION_OUTPUT:
                return self._attention_output()
            case Part.OTHER:
                return self._default

    def _output(self) -> str:
        return "q8_0" if self._falcon else "q6_k"

    def _value(self, layer: int) -> str:
        """attn_v, and the joined projection of recurrent mixers, which goes by the same rule."""
        if self._experts == EIGHT:
            return "q8_0"
        index = self._value_index[layer] if layer < len(self._value_index) else self._values - 1
        chosen = self._default
        match self._precision:
            case "q2_k":
                chosen = "q4_k" if self._shared_by >= 4 else "q3_k"
            case "q3_k_m":
                chosen = "q5_k" if index < 2 else "q4_k"
            case "q3_k_l":
                chosen = "q5_k"
            case "iq4_xs" | "iq4_nl" if self._shared_by >= 4:
                chosen = "q5_k"
            case "q4_k_m" | "q5_k_m" if more_bits(index, self._values):
                chosen = "q6_k"
            case "q4_k_s" if index < 4:
                chosen = "q5_k"
        return "q5_k" if self._seventy and chosen in ("q3_k", "q4_k") else chosen

    def _down(self, layer: int) -> str:
        count = self._layers
        if self._falcon:
            return self._falcon_down(layer)
        match self._precision:
            case "q2_k":
                return "q3_k"
            case "q3_k_m":
                return "q5_k" if layer < count // 16 else "q4_k"
            case "q3_k_l":
                return "q5_k"
            case "q4_k_m" | "q5_k_m" if more_bits(layer, count):
                return "q6_k"
            case "q4_k_s" if layer < count // 8:
                return "q5_k"
            case _:
                return self._default

    def _falcon_down(self, layer: int) -> str:
        count = self._layers
        more = more_bits(layer, count)
        match self._precision:
            case "q2_k":
                return "q3_k"
            case "q3_k_m":
                return "q5_k" if layer < count // 16 else "q4_k" if more else "q3_k"
            case "q3_k_l":
                return "q4_k"
            case "q4_k_m":
                return "q6_k" if layer < count // 16 else "q5_k" if more else "q4_k"
            case "q5_k_m" if more:
                return "q6_k"
            case _:
                return self._default

    def _attention_output(self) -> str:
        if self._falcon:
            return "q4_k" if self._precision == "q3_k_l" else self._default
        if self._experts == EIGHT:
            spared = ("q2_k", "q3_k_s", "q3_k_m", "q4_k_s", "q4_k_m", "iq4_xs", "iq4_nl")
            return "q5_k" if self._precision in spared else self._default
        return {"q2_k": "q3_k", "q3_k_m": "q4_k", "q3_k_l": "q5_k"}.get(self._precision, self._default)


def gguf_rule(spec: ModelSpec, precision: str) -> Rule:
    return GgufRule(spec, precision)


def _is_quantized(tensor: Tensor) -> bool:
    """Of prediction layers every matrix but the routers, their embedding and projection too (receipt l045)."""
    if tensor.kind is not TensorClass.PREDICTION:
        return is_linear(tensor)
    return len(tensor.shape) == 2 and not any(part in tensor.name for part in PLAIN_PREDICTION)


def _fitting(chosen: str, columns: int) -> str:
    """A type whose blocks fill the row: k-quants need 256 columns, the older types 32."""
    if columns % GGML[chosen].block_columns == 0:
        return chosen
    narrower = NARROWER.get(chosen, "f16")
    return narrower if columns % GGML[narrower].block_columns == 0 else "f16"


def _predicts(tensors: tuple[Tensor, ...]) -> bool:
    return any(tensor.kind is TensorClass.PREDICTION for tensor in tensors)


def _queries_for_each_key(spec: ModelSpec) -> int:
    """Query heads that share a key in the first attention layer; all of them in latent attention."""
    for layer in spec.each_layer():
        for mixer in layer.mixers:
            if isinstance(mixer, Attention):
                return mixer.heads // mixer.kv_heads
            if isinstance(mixer, LatentAttention):
                return mixer.heads
    return 1
