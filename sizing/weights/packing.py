"""How one matrix is stored: its elements, and the scales that come with them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Packing:
    """`bits` for each element, and `block_bits` for each block of `block_rows` × `block_columns` elements.

    A block side of 0 spans the whole axis. `tensor_bytes` come once for each matrix, `column_bytes` for each
    input column. Blocks at the edge count whole. Rows are outputs, columns inputs.
    """

    bits: int
    block_rows: int = 0
    block_columns: int = 0
    block_bits: int = 0
    tensor_bytes: int = 0
    column_bytes: int = 0

    def bytes_of(self, rows: int, columns: int) -> int:
        """Stored bytes of one matrix of (rows, columns)."""
        blocks = blocks_along(rows, self.block_rows) * blocks_along(columns, self.block_columns)
        scales = -(-blocks * self.block_bits // 8)
        return -(-rows * columns * self.bits // 8) + scales + self.tensor_bytes + columns * self.column_bytes


def blocks_along(size: int, block: int) -> int:
    return -(-size // block) if block else 1


def grouped(bits: int, group: int, scale_bits: int, *, tensor_bytes: int = 0, column_bytes: int = 0) -> Packing:
    """`group` input elements of one row share a scale (and a zero point, counted in `scale_bits`)."""
    return Packing(bits, 1, group, scale_bits, tensor_bytes, column_bytes)


def ggml(block: int, block_bytes: int) -> Packing:
    """A ggml type: rows of blocks that hold their own scales."""
    return Packing(0, 1, block, block_bytes * 8)


PER_ROW = 0  # a group that spans the whole row

# Formats without scales, by the names that a Tensor's dtype or a spec's dtype may have.
PLAIN: dict[str, Packing] = {
    "fp64": Packing(64),
    "fp32": Packing(32),
    "bf16": Packing(16),
    "fp16": Packing(16),
    "int64": Packing(64),
    "int32": Packing(32),
    "uint8": Packing(8),
}

# Sources: DeepSeek-V3 README_WEIGHTS.md (weight_scale_inv: one fp32 for 128 × 128); AutoAWQ WQLinear_GEMM and
# GPTQ QuantLinear (fp16 scale and 4-bit zero point for each group of 128; GPTQ also a g_idx int32 for each
# input column); compressed-tensors pack-quantized (scale in bf16, weight_shape of two int32); ModelOpt NVFP4
# (fp8 scale for 16 elements, weight_scale_2 and input_scale in fp32); OCP MX (one byte for 32); bitsandbytes
# (nf4: fp32 absmax for 64 elements; int8: fp32 SCB for each row).
PACKED: dict[str, Packing] = {
    "fp8": grouped(8, PER_ROW, 32),
    "fp8-tensor": Packing(8, tensor_bytes=4),
    "fp8-block": Packing(8, 128, 128, 32),
    "mxfp8": grouped(8, 32, 8),
    "int8": grouped(8, PER_ROW, 32),
    "awq-int4": grouped(4, 128, 16 + 4),
    "gptq-int4": grouped(4, 128, 16 + 4, column_bytes=4),
    "gptq-int8": grouped(8, 128, 16 + 8, column_bytes=4),
    "int4-group32": grouped(4, 32, 16, tensor_bytes=8),
    "nvfp4": grouped(4, 16, 8, tensor_bytes=8),
    "mxfp4": grouped(4, 32, 8),
    "bnb-nf4": grouped(4, 64, 32),
    "bnb-int8": grouped(8, PER_ROW, 32),
}

# Source: ggml-common.h (ggml 0.25.3): block size and bytes of each type.
GGML: dict[str, Packing] = {
    "f32": ggml(1, 4),
    "f16": ggml(1, 2),
    "bf16": ggml(1, 2),
    "q8_0": ggml(32, 34),
    "q5_1": ggml(32, 24),
    "q5_0": ggml(32, 22),
    "q4_1": ggml(32, 20),
    "q4_0": ggml(32, 18),
    "iq4_nl": ggml(32, 18),
    "q6_k": ggml(256, 210),
    "q5_k": ggml(256, 176),
    "q4_k": ggml(256, 144),
    "q3_k": ggml(256, 110),
    "q2_k": ggml(256, 84),
    "iq4_xs": ggml(256, 136),
    # Only met in files, never chosen here.
    "f64": ggml(1, 8),
    "i8": ggml(1, 1),
    "i16": ggml(1, 2),
    "i32": ggml(1, 4),
    "i64": ggml(1, 8),
    "q8_1": ggml(32, 36),
    "q8_k": ggml(256, 292),
    "iq3_s": ggml(256, 110),
    "iq3_xxs": ggml(256, 98),
    "iq2_s": ggml(256, 82),
    "iq2_xs": ggml(256, 74),
    "iq2_xxs": ggml(256, 66),
    "iq1_m": ggml(256, 56),
    "iq1_s": ggml(256, 50),
    "tq2_0": ggml(256, 66),
    "tq1_0": ggml(256, 54),
    "q2_0": ggml(64, 18),
    "q1_0": ggml(128, 18),
    "ggml-nvfp4": ggml(64, 36),
}
