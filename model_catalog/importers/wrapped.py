"""Models whose decoder is a nested config, with vision or audio towers beside it."""

from collections.abc import Callable
from dataclasses import replace

from model_catalog.fields import ConfigError, Fields, class_defaults
from model_catalog.importers.common import max_context_of
from model_catalog.importers.towers import read_towers
from model_catalog.spec import ModelSpec

# Classes that tie the output head where either the wrapping or the decoder's config says so. All others go by the
# wrapping config alone (transformers 5.24.0, PreTrainedModel.get_expanded_tied_weights_keys).
TIED_BY_EITHER = frozenset(
    [
        "fast_vlm",
        "glm4v",
        "glm4v_moe",
        "glm_ocr",
        "hunyuan_vl",
        "llava",
        "llava_next_video",
        "llava_onevision",
        "minimax_m3_vl",
        "paddleocr_vl",
        "qwen2_vl",
        "qwen2_5_vl",
        "shieldgemma2",
        "video_llama_3",
    ]
)
# Classes that hold a whole causal model of the decoder's own, which goes by the decoder's config.
TIED_BY_DECODER = frozenset({"llama4"})
# Classes that never tie, whatever a config says.
NEVER_TIED = frozenset({"cosmos3_edge", "inkling2", "molmo2", "muse_spark", "omniasr", "qwen2_audio", "voxtral"})
DEEPEST = 4  # Qwen3-Omni nests two: thinker_config.text_config


def read_wrapped(f: Fields, text: Fields, read_text: Callable[[Fields], ModelSpec]) -> ModelSpec:
    """The decoder that `text` describes, and the towers beside it."""
    if f.path.count(".") >= DEEPEST:
        raise ConfigError(text.path.rstrip("."), f"{text.path} is nested too deep to be read.")
    tied = tied_of(f, text)
    data = {name: value for name, value in text.data.items() if name != "tie_embedding"}
    decoder = Fields({**data, "tie_word_embeddings": tied}, text.model_type, text.path)
    decoder.reading = f.reading
    spec = read_text(decoder)
    return replace(
        spec,
        model_type=f.model_type,
        max_context=spec.max_context or max_context_of(f),
        towers=(*spec.towers, *read_towers(f)),
    )


def tied_of(f: Fields, text: Fields) -> bool:
    """Whether the output head is the embedding, by the config that the wrapping class asks."""
    known = "text_config" in class_defaults().get(f.model_type, {}).get("parts", {})
    outer = f.flag("tie_embedding") if f.has("tie_embedding") else f.flag("tie_word_embeddings")
    if f.model_type in TIED_BY_DECODER or (not known and not f.has("tie_word_embeddings")):
        return text.flag("tie_word_embeddings")
    if f.model_type in NEVER_TIED:
        return False
    return outer or (f.model_type in TIED_BY_EITHER and text.flag("tie_word_embeddings"))
