"""Which layers each device holds (llama-model.cpp load_tensors): the last -ngl of the layers and the output after them.

Devices of equal size share what is offloaded as evenly as can be: gpt-oss-20b's 24 layers and output over four are
7, 6, 6 and 5 with the output (receipt l034). By default their free memory counts, else the shares of --tensor-split.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any


@dataclass(frozen=True, slots=True)
class Share:
    """Layers `first` to `last` − 1; `output`: the final norm and the output head too."""

    first: int
    last: int
    output: bool


@dataclass(frozen=True, slots=True)
class Offload:
    """What is on GPUs: `gpu_layers` (-ngl) of `layers` and the output, which comes first or, in old builds, last."""

    layers: int
    gpu_layers: int
    output_first: bool = True

    @property
    def placed(self) -> range:
        """Layers on GPUs, the output counted as the layer after the last."""
        first = max(self.layers + self.output_first - self.gpu_layers, 0)
        return range(first, min(first + self.gpu_layers, self.layers + 1))

    @property
    def host(self) -> Share:
        """What stays in host memory beside the input embedding."""
        placed = self.placed
        return Share(0, min(self.layers, placed.start), self.layers not in placed)

    def shares(self, devices: int, split: Sequence[float] | None = None) -> list[Share]:
        """What each of `devices` devices holds; `split` is in any unit, one number for each."""
        placed = self.placed
        cuts = _even(len(placed), devices) if split is None else _by_share(len(placed), split)
        return [
            Share(
                min(placed.start + start, self.layers),
                min(placed.start + end, self.layers),
                placed.start + end > self.layers >= placed.start + start,
            )
            for start, end in pairwise(cuts)
        ]


def _even(held: int, devices: int) -> list[int]:
    return [-(-held * device // devices) for device in range(devices + 1)]


def _by_share(held: int, split: Sequence[float]) -> list[int]:
    """In 32-bit floats, as llama.cpp reckons: a layer goes to the first device whose end lies beyond its place."""
    import numpy as np  # here, since few scenarios need it and starts are to be quick

    places = np.arange(held, dtype=np.float32) / np.float32(max(held, 1))
    return [0, *np.searchsorted(places, ends_of(split), side="left").tolist()]


def ends_of(split: Sequence[float]) -> Any:
    """Where each device's share ends, as a part of all: an array of 32-bit floats."""
    import numpy as np

    sums = np.cumsum(np.array(split, dtype=np.float32), dtype=np.float32)
    return sums / sums[-1]
