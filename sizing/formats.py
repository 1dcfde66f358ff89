"""Number formats of the cache: bytes of the vectors that a token leaves behind."""

from dataclasses import dataclass
from math import ceil


class FormatError(ValueError):
    """A cache format that is unknown, or that these dimensions do not allow."""


@dataclass(frozen=True, slots=True)
class Format:
    """`block_bytes` for each `block` elements of a row, and `per_head` bytes of scales for each head and token."""

    block: int
    block_bytes: int
    per_head: int = 0

    def row_bytes(self, heads: int, dim: int) -> int:
        """Bytes of `heads` vectors of `dim` elements. Raises FormatError where they do not fill whole blocks."""
        blocks, rest = divmod(heads * dim, self.block)
        if rest:
            raise FormatError(f"a row of {heads * dim:,} elements is not a multiple of {self.block}")
        return blocks * self.block_bytes + heads * self.per_head


# Sources: vLLM 0.33 kv_cache_interface.py, SGLang 0.5.23 memory_pool.py, ggml-common.h (ggml 0.25.3).
FORMATS: dict[str, Format] = {
    "fp32": Format(1, 4),
    "bf16": Format(1, 2),
    "fp16": Format(1, 2),
    "fp8": Format(1, 1),
    "int8": Format(1, 1),
    "fp8_per_token_head": Format(1, 1, 4),
    "int8_per_token_head": Format(1, 1, 4),
    "int4_per_token_head": Format(2, 1, 4),
    "mxfp8": Format(32, 33),
    "nvfp4": Format(16, 9),
    "fp4_e2m1": Format(16, 9),
    "ultraquant_4bit": Format(32, 17),
    "q8_0": Format(32, 34),
    "q5_1": Format(32, 24),
    "q5_0": Format(32, 22),
    "q4_1": Format(32, 20),
    "q4_0": Format(32, 18),
    "iq4_nl": Format(32, 18),
}
SAME = {
    "float32": "fp32",
    "f32": "fp32",
    "bfloat16": "bf16",
    "float16": "fp16",
    "f16": "fp16",
    "half": "fp16",
    "fp8_e4m3": "fp8",
    "fp8_e5m2": "fp8",
    "fp8_inc": "fp8",
    "nvfp4_4over6": "nvfp4",
}

# vLLM turboquant: (key bits, value bits); 8-bit keys are fp8 without a scale.
TURBOQUANT = {
    "turboquant_k8v4": (8, 4),
    "turboquant_4bit_nc": (4, 4),
    "turboquant_k3v4_nc": (3, 4),
    "turboquant_3bit_nc": (3, 3),
}


def format_named(name: str) -> Format:
    """Raises FormatError for a name that no engine uses."""
    found = FORMATS.get(SAME.get(name, name))
    if found is None:
        raise FormatError(f'"{name}" is not a cache format that is known here')
    return found


def turboquant_bytes(name: str, key_dim: int, value_dim: int) -> int:
    """Bytes of one head's key and value: packed codes with norms, the sum rounded up to even."""
    key_bits, value_bits = TURBOQUANT[name]
    key = key_dim if key_bits == 8 else ceil(key_dim * key_bits / 8) + 2
    total = key + ceil(value_dim * value_bits / 8) + 4
    return total + total % 2
