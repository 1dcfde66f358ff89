"""Which layers each device holds (llama-model.cpp load_tensors): the last -ngl of the layers and the output after them.

Devices of equal size share what is offloaded as evenly as can be: gpt-oss-20b's 24 layers and output over four are
7, 6, 6 and 5 with the output (receipt l034).
"""

from dataclasses import dataclass
from itertools import pairwise

MOST_DEVICES = 16  # GGML_CUDA_MAX_DEVICES


@dataclass(frozen=True, slots=True)
class Share:
    """Layers `first` to `last` − 1; `output`: the final norm and the output head too."""

    first: int
    last: int
    output: bool


def shares(layers: int, gpu_layers: int, devices: int) -> list[Share]:
    """What each of `devices` devices holds."""
    start = max(layers + 1 - gpu_layers, 0)
    held = layers + 1 - start
    bounds = [start + -(-held * device // devices) for device in range(devices + 1)]
    return [Share(first, min(last, layers), last > layers >= first) for first, last in pairwise(bounds)]


def on_host(layers: int, gpu_layers: int) -> Share:
    """What stays in host memory beside the input embedding."""
    return Share(0, min(layers, max(layers + 1 - gpu_layers, 0)), gpu_layers == 0)
