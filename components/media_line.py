"""One sentence on what the images, the video and the audio of a request take."""

import streamlit as st

from components.format import Unit, scaled
from sizing.report import MediaReport, Report
from sizing.scenario import Media


def draw(report: Report, unit: Unit) -> None:
    if report.media and report.scenario.media:
        st.caption(sentence(report.media, report.scenario.media, report.scenario.context_length or 1, unit))


def sentence(taken: MediaReport, media: Media, length: int, unit: Unit) -> str:
    """Kinds whose tokens are not known are left to the notes."""
    parts = [
        *_images(taken, media, unit),
        *_other("The video", taken.video_tokens),
        *_other("Audio", taken.audio_tokens),
    ]
    if taken.tokens is None or taken.cache_bytes is None:
        return " ".join([*parts, "How much all of it takes is not known here."])
    whole = f"Together {taken.tokens:,} of {length:,} tokens ({taken.tokens / length:.0%})"
    return " ".join([*parts, f"{whole} and {scaled(taken.cache_bytes, unit)} of a request's cache."])


def _images(taken: MediaReport, media: Media, unit: Unit) -> list[str]:
    if not taken.images or taken.image_tokens is None or taken.image_bytes is None:
        return []
    one = f"An image of {media.width:,} × {media.height:,} takes {taken.image_tokens:,} tokens"
    return [f"{one} and {scaled(taken.image_bytes, unit)} of cache."]


def _other(what: str, tokens: int | None) -> list[str]:
    return [f"{what} takes {tokens:,} tokens."] if tokens else []
