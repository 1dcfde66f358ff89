"""Read the config of a head: a small decoder (model_type llama, qwen3, kimi_k2, …) that is changed from there.

What the engine shares with the target is decided where the head is loaded.
"""

from collections.abc import Callable
from typing import Any

from model_catalog.drafts.block_heads import LAGUNA, block_head
from model_catalog.drafts.eagle import eagle_head, read_eagle3
from model_catalog.drafts.kinds import decoder_fields
from model_catalog.drafts.stacks import medusa, mlp_speculator
from model_catalog.fields import Fields
from model_catalog.importers.decoder import overlaid
from model_catalog.spec import DraftKind, ModelSpec

Read = Callable[[Fields], ModelSpec]


def read_head(f: Fields, kind: DraftKind, read: Read) -> ModelSpec:
    """ModelSpec of a head. `read` reads the decoder that its layers are written down as."""
    match kind:
        case "medusa":
            return medusa(f)
        case "mlp_speculator":
            return mlp_speculator(f)
        case "eagle":
            return eagle_head(_decoder(f, read))
        case "eagle3":
            return read_eagle3(f, _decoder(f, read))
        case _:
            return block_head(f, _decoder(f, read), kind)


def _decoder(f: Fields, read: Read) -> ModelSpec:
    """Layers are dense, and none predicts further tokens."""
    layer = decoder_fields(f)
    dense: dict[str, Any] = {}
    if layer.has("first_k_dense_replace"):
        dense = {"first_k_dense_replace": layer.layer_count(), "num_nextn_predict_layers": 0}
    elif layer.model_type == LAGUNA:
        dense = {"mlp_layer_types": ["dense"] * layer.layer_count()}
    spec = read(overlaid(layer, dense))
    layer.raw("num_target_layers")
    return spec
