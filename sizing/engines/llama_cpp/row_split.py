"""Matrices split by rows over GPUs, --split-mode row (ggml-cuda.cu get_row_split, ggml_backend_cuda_split_buffer_type).

A device's rows end at its share of all, rounded down to whole tiles. A matrix of which the GPU of its layer would get
no row stays whole on that GPU, as do experts and whatever is no matrix. Qwen3-30B-A3B in Q8_0 over four K80s:
routers of 128 rows are cut into tiles of 64, so that the first and the third GPU have none (ggml-org/llama.cpp 13661).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from hardware_catalog.schema import Accelerator
from model_catalog.tensors import TensorClass
from sizing.engines.llama_cpp.split import ends_of
from sizing.weights.inventory import Stored
from sizing.weights.linears import is_linear

TILE, SMALL_TILE = 128, 64  # rows of a tile of mul_mat_q; small before Volta
VOLTA = (7, 0)
PADDING = 512  # elements that the last row of each part is padded to
# The embedding among them is a tied one, as the output head
MATRICES = frozenset({TensorClass.ROUTER, TensorClass.LM_HEAD, TensorClass.EMBEDDING})


@dataclass(frozen=True, slots=True)
class RowSplit:
    """`split`: the share of each GPU. `tile`: rows that stay together."""

    split: tuple[float, ...]
    tile: int

    def parts(self, stored: Stored) -> tuple[int, ...]:
        """Bytes of a matrix on each GPU."""
        import numpy as np

        rows, columns = stored.tensor.shape
        ends = (np.float32(rows) * ends_of(self.split)[:-1]).astype(np.int64)
        cuts = [0, *(int(end - end % self.tile) for end in ends), rows]
        over = -columns % PADDING
        padding = stored.packing.bytes_of(1, over) if over else 0
        return tuple(
            stored.packing.bytes_of(end - start, columns) + padding if end > start else 0
            for start, end in pairwise(cuts)
        )


def padding_of(stored: Stored) -> int:
    """Bytes after the last row of quantized blocks, up to a multiple of PADDING elements."""
    over = -stored.tensor.shape[-1] % PADDING
    quantized = len(stored.tensor.shape) > 1 and stored.packing.block_columns > 1
    return stored.packing.bytes_of(1, over) if over and quantized else 0


def row_split(split: Sequence[float], accelerator: Accelerator | None) -> RowSplit:
    old = accelerator is not None and (accelerator.compute_capability or VOLTA) < VOLTA
    return RowSplit(tuple(split), SMALL_TILE if old else TILE)


def is_matrix(stored: Stored) -> bool:
    """Whether a tensor of a layer, or the output head, is multiplied with as one matrix."""
    tensor = stored.tensor
    if len(tensor.shape) != 2 or tensor.kind is TensorClass.EXPERT:
        return False
    return tensor.kind in MATRICES or is_linear(tensor)
