"""Vision and audio towers and their projectors, by the model type that they belong to."""

from model_catalog.fields import Fields
from model_catalog.spec import Tower


def read_towers(f: Fields) -> tuple[Tower, ...]:
    """Towers beside the decoder of the wrapping config `f`. One that is not understood is named, not counted."""
    for field in ("vision_config", "audio_config"):
        if f.raw(field) is not None:
            f.doubt(field, f"The {field.split('_')[0]} tower is not counted.", kv=False)
    return ()
