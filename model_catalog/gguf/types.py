"""ggml tensor types by their number in a GGUF file. Sizes are in sizing/weights/packing.py, under the same names.

Source: ggml.h, enum ggml_type. NVFP4 has one scale less for each tensor than the checkpoint format of that name.
"""

from collections.abc import Mapping
from typing import Final

TYPES: Final[Mapping[int, str]] = {
    0: "f32",
    1: "f16",
    2: "q4_0",
    3: "q4_1",
    6: "q5_0",
    7: "q5_1",
    8: "q8_0",
    9: "q8_1",
    10: "q2_k",
    11: "q3_k",
    12: "q4_k",
    13: "q5_k",
    14: "q6_k",
    15: "q8_k",
    16: "iq2_xxs",
    17: "iq2_xs",
    18: "iq3_xxs",
    19: "iq1_s",
    20: "iq4_nl",
    21: "iq3_s",
    22: "iq2_s",
    23: "iq4_xs",
    24: "i8",
    25: "i16",
    26: "i32",
    27: "i64",
    28: "f64",
    29: "iq1_m",
    30: "bf16",
    34: "tq1_0",
    35: "tq2_0",
    39: "mxfp4",
    40: "ggml-nvfp4",
    41: "q1_0",
    42: "q2_0",
}
