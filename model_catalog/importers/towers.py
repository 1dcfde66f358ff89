"""Vision and audio towers and their projectors, by the model type that they belong to."""

from model_catalog.blocks.linear import linear
from model_catalog.blocks.vision import tower
from model_catalog.fields import Fields
from model_catalog.spec import Tower
from model_catalog.tensors import TensorClass
from model_catalog.towers import audio, audio_projectors, clip_like, other_vision, projectors, qwen_like
from model_catalog.towers.parts import decoder_part, tower_part

VISION_READERS = {**clip_like.READERS, **qwen_like.READERS, **other_vision.READERS}
# Where audio towers stand: Granite Speech says encoder_config.
AUDIO_FIELDS = {"granite_speech": "encoder_config", "granite_speech_plus": "encoder_config"}
# Nested parts beside vision and audio towers that hold weights and are not read.
OTHER_PARTS = (
    "vq_config",
    "high_res_vision_config",
    "qformer_config",
    "word_timestamp_config",
    "acoustic_tokenizer_encoder_config",
    "semantic_tokenizer_encoder_config",
)


def read_towers(f: Fields) -> tuple[Tower, ...]:
    """Towers beside the decoder of the wrapping config `f`. One that is not understood is named, not counted."""
    for name in OTHER_PARTS:
        if f.part(name) is not None:
            f.doubt(name, f"The weights of {name} are not counted.", kv=False)
    audio_field = AUDIO_FIELDS.get(f.model_type, "audio_config")
    return (
        *_towers(f, "vision_config", TensorClass.VISION),
        *_towers(f, audio_field, TensorClass.AUDIO),
        *_patches(f),
    )


def _patches(f: Fields) -> tuple[Tower, ...]:
    """Fuyu has no tower: one projection takes the pixels of a patch to the decoder's width."""
    text = decoder_part(f) if f.model_type == "fuyu" else None
    if text is None:
        return ()
    pixels = f.whole("patch_size") ** 2 * f.whole("num_channels")
    tensors = linear("vision_embed_tokens", text.whole("hidden_size"), pixels, TensorClass.VISION, bias=True)
    return (Tower(name="vision projector", tensors=tensors),)


def _towers(f: Fields, name: str, kind: TensorClass) -> tuple[Tower, ...]:
    """The encoder of one modality, and its projector."""
    part = tower_part(f, name)
    if part is None:
        return ()
    readers, known = (
        (VISION_READERS, projectors.VISION) if kind is TensorClass.VISION else (audio.READERS, audio_projectors.AUDIO)
    )
    read, project, text = readers.get(part.model_type), known.get(f.model_type), decoder_part(f)
    what = kind.value
    if read is None:
        f.doubt(
            name,
            f'The {what} tower "{part.model_type}" is not known here; its weights are not counted.',
            kv=False,
        )
        return ()
    if project is None or text is None:
        f.doubt(name, f"The projector between the {what} tower and the decoder is not counted.", kv=False)
        return (read(part),)
    tensors = project(f, part, text)
    projector = tower(f"{what} projector", kind, f"{what}_projector", tensors)
    return (read(part), projector) if tensors else (read(part),)
