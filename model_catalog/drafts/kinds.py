"""How the config of a checkpoint that only drafts is told, and where it describes the head's layers.

Sources: vllm/transformers_utils/configs, vllm/model_executor/models/registry.py.
"""

from collections.abc import Mapping
from typing import Any

from model_catalog.fields import Fields
from model_catalog.spec import DraftKind

ARCHITECTURES: Mapping[str, DraftKind] = {
    "EAGLEModel": "eagle",
    "EagleLlamaForCausalLM": "eagle",
    "LlamaForCausalLMEagle": "eagle",
    "Eagle3DeepseekV2ForCausalLM": "eagle3",
    "Eagle3DeepseekV3ForCausalLM": "eagle3",
    "Eagle3DraftModel": "eagle3",
    "Eagle3LlamaForCausalLM": "eagle3",
    "Eagle3Speculator": "eagle3",
    "LlamaForCausalLMEagle3": "eagle3",
    "DFlashDraftModel": "dflash",
    "DFlash2DraftModel": "dflash",
    "DFlashLagunaForCausalLM": "dflash",
    "DSparkDraftModel": "dspark",
    "Qwen3DSparkModel": "dspark",
    "Qwen3OmniDSparkModel": "dspark",
    "MedusaModel": "medusa",
    "MLPSpeculatorPreTrainedModel": "mlp_speculator",
}
SPECULATORS: Mapping[str, DraftKind] = {"eagle": "eagle", "eagle3": "eagle3", "dflash": "dflash", "dspark": "dspark"}
OWN_TYPES: Mapping[str, DraftKind] = {"medusa": "medusa", "mlp_speculator": "mlp_speculator"}


def kind_of(config: Mapping[str, Any]) -> DraftKind | None:
    """How the checkpoint of this config drafts; None where it is a model by itself."""
    named = config.get("speculators_model_type")
    if isinstance(named, str) and named in SPECULATORS:
        return SPECULATORS[named]
    if "medusa_num_heads" in config:
        return "medusa"
    own = OWN_TYPES.get(str(config.get("model_type")))
    return own or _by_class(config)


def _by_class(config: Mapping[str, Any]) -> DraftKind | None:
    names = config.get("architectures")
    name = names[0] if isinstance(names, list) and names and isinstance(names[0], str) else ""
    kind = ARCHITECTURES.get(name)
    if kind == "dspark" and config.get("model_type") == "deepseek_v4":
        return None  # the target's whole config; its prediction layers are the draft
    if kind == "dflash" and method_of(config).get("projector_type") == "dspark":
        return "dspark"
    if kind is None and config.get("num_hidden_layers") == 1 and "draft_vocab_size" in config:
        return "eagle3"  # heads of EAGLE's authors are named as their target's class
    return kind


def method_of(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """The settings of DFlash and DSpark, which stand in a part of their own or beside the decoder's."""
    found = config.get("dflash_config")
    return found if isinstance(found, Mapping) else {}


def decoder_fields(f: Fields) -> Fields:
    """The fields that describe the head's layers: the file's own, or those of the part of it that holds them."""
    for name in ("transformer_layer_config", "model"):
        part = f.part(name) if isinstance(f.raw(name), Mapping) else None
        if part is not None:
            return part
    return f
