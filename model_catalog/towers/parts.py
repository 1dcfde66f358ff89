"""Reading the nested configs of towers: which class each one is, and sizes given as one number or two."""

from collections.abc import Mapping
from typing import Any

from model_catalog.fields import Fields, class_defaults

# Wrapping types whose class lets the file choose the tower's class by its model_type. All others fix the class, and
# the model_type in the file is then only a name (Qwen3-VL's says "qwen3_vl", MiniMax-M3's "clip_vision_model").
CHOOSING = frozenset(
    [
        "aria",
        "audioflamingo3",
        "aya_vision",
        "cohere2_vision",
        "cosmos3_omni",
        "deepseek_vl",
        "deepseek_vl_hybrid",
        "diffusion_gemma",
        "fast_vlm",
        "fun_asr_nano",
        "gemma3",
        "glm46v",
        "glmasr",
        "glmga",
        "granite4_vision",
        "granite_speech",
        "hyperclovax_vision_v2",
        "lfm2_vl",
        "lighton_ocr",
        "llava",
        "llava_next",
        "llava_next_video",
        "llava_onevision",
        "mistral3",
        "mistral_large4",
        "musicflamingo",
        "nemotron_h_omni",
        "omniasr",
        "paligemma",
        "perception_lm",
        "qwen2_audio",
        "qwen3_asr",
        "shieldgemma2",
        "video_llava",
        "vipllava",
        "voxtral",
        "voxtral_realtime",
    ]
)
# Wrapping types that build a tower of their own sizes where none is described; those sizes are not known here.
OWN_SIZES = frozenset(
    {
        *("aya_vision", "cohere2_vision", "lighton_ocr", "mistral3", "mistral_large4", "paligemma", "video_llava"),
        *("llava", "llava_next", "llava_next_video", "llava_onevision", "vipllava"),
    }
)
# Wrapping types whose tower may be left out altogether, by a null.
OPTIONAL = frozenset({"gemma4", "gemma4_unified", "nemotron_h_omni"})
MOST_PIXELS = 2**20
# openai/clip-vit-large-patch14-336
CLIP_LARGE_336 = {
    "hidden_size": 1024,
    "intermediate_size": 4096,
    "num_hidden_layers": 24,
    "num_attention_heads": 16,
    "image_size": 336,
    "patch_size": 14,
}


def tower_part(f: Fields, name: str) -> Fields | None:
    """The nested config of a tower, read with the defaults of the class that the wrapping model gives it."""
    if f.raw(name) is None and f.model_type in OPTIONAL:
        if f.model_type == "nemotron_h_omni" and not f.has(name):
            f.doubt(name, f"{name} is not stated; no such tower is counted, transformers would make one.", kv=False)
        return None
    if f.model_type == "phi3_v" and name == "vision_config":
        return _phi3_clip(f)
    own = class_defaults().get(f.model_type, {}).get("parts", {}).get(name)
    if f.raw(name) is None and own and f.model_type in OWN_SIZES:
        f.doubt(name, f"{name} is not stated; the tower is counted with the default sizes of its class.", kv=False)
    part = f.part(name)
    if part is None or own is None or (f.model_type in CHOOSING and part.model_type):
        return part
    return _typed(f, part.data, own, part.path)


def _phi3_clip(f: Fields) -> Fields | None:
    """Phi-3 vision names its tower instead of describing it."""
    named = f.part("img_processor")
    if named is None:
        return None
    if named.text("model_name") != "openai/clip-vit-large-patch14-336":
        named.doubt("model_name", "Only CLIP ViT-L/14-336 is known here; it is counted instead.", kv=False)
    return _typed(f, CLIP_LARGE_336, "clip_vision_model", "img_processor.")


def pair(v: Fields, name: str, default: int | None = None) -> tuple[int, int]:
    """Height and width, stated as one number or as two."""
    if not isinstance(v.raw(name), list):
        size = v.whole(name, default, maximum=MOST_PIXELS)
        return size, size
    sizes = v.items(name, int, most=2) or []
    if len(sizes) != 2 or not all(0 < size <= MOST_PIXELS for size in sizes):
        raise v.error(name, "a whole number, or a list of two")
    return sizes[0], sizes[1]


def grid(v: Fields) -> int:
    """Patches of one image: as many as fit along its height times as many along its width."""
    (height, width), (down, across) = pair(v, "image_size"), pair(v, "patch_size")
    return (height // down) * (width // across)


def ratio(v: Fields, name: str, default: float) -> float:
    """A factor above zero."""
    value = v.number(name, default)
    if not 0 < value < 2**20:
        raise v.error(name, "a number above zero")
    return value


# Where the decoder's config stands, by the names that classes and remote code give it.
DECODER_FIELDS = ("text_config", "language_config", "llm_config", "thinker_config")
# Wrapping types whose class lets the file choose the decoder's class by its model_type.
CHOOSING_DECODER = frozenset(
    [
        "audioflamingo3",
        "aya_vision",
        "blip-2",
        "cohere2_vision",
        "cosmos3_omni",
        "deepseek_vl",
        "deepseek_vl_hybrid",
        "exaone4_5",
        "fast_vlm",
        "florence2",
        "fun_asr_nano",
        "fuyu",
        "glm46v",
        "glmasr",
        "glmga",
        "got_ocr2",
        "granite_speech",
        "granite_speech_plus",
        "hyperclovax_vision_v2",
        "idefics2",
        "idefics3",
        "instructblip",
        "instructblipvideo",
        "internvl",
        "janus",
        "kimi_k25",
        "lfm2_vl",
        "lfm3_vl",
        "lighton_ocr",
        "llava",
        "llava_next",
        "llava_next_video",
        "llava_onevision",
        "minicpm_ocr",
        "minicpmv4_6",
        "minicpmv4_7",
        "mistral3",
        "moss_transcribe_diarize",
        "musicflamingo",
        "nemo_speechlm",
        "nemotron_h_omni",
        "omniasr",
        "ovis2",
        "paligemma",
        "perception_lm",
        "pp_chart2table",
        "qianfan_ocr",
        "qwen2_audio",
        "qwen3_asr",
        "shieldgemma2",
        "smolvlm",
        "vibevoice",
        "vibevoice_asr",
        "video_llama_3",
        "video_llava",
        "vipllava",
        "voxtral",
        "voxtral_realtime",
    ]
)
# Model types in files that are other names of a class (transformers' Kimi-K2.5 config renames the first).
SAME_CLASS = {"kimi_k2": "deepseek_v3"}
# Remote-code wrappers that keep the decoder's fields at the top level, and the class that those follow.
FLAT = {"phi3_v": "phi3"}


def decoder_part(f: Fields) -> Fields | None:
    """The decoder's config inside a wrapping config, or None where `f` is itself a decoder."""
    if f.model_type in FLAT:
        return _typed(f, f.data, FLAT[f.model_type], f.path)
    own = class_defaults().get(f.model_type, {}).get("parts", {}).get("text_config")
    for name in DECODER_FIELDS:
        if f.raw(name) is None:
            continue
        part = f.part(name)
        if part is None:
            continue
        fixed = own if own and f.model_type not in CHOOSING_DECODER else part.model_type
        return _typed(f, part.data, SAME_CLASS.get(fixed, fixed), part.path)
    if own is None:
        return None
    # Qwen2-VL's first files hold the decoder's fields at the top level, beside vision_config.
    if "hidden_size" in f.data:
        return _typed(f, f.data, own, f.path)
    if f.model_type in CHOOSING_DECODER:
        f.doubt("text_config", f"text_config is not stated; the decoder is counted with the defaults of {own}.")
    return f.part("text_config")


def _typed(f: Fields, data: Mapping[str, Any], model_type: str, path: str) -> Fields:
    part = Fields(data, model_type, path)
    part.reading = f.reading
    return part
