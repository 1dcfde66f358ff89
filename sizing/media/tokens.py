"""How many tokens the media of a sequence take, by the rules of its model's family."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from model_catalog.spec import ModelSpec
from model_catalog.tensors import TensorClass
from sizing.media.families import Family, family_of
from sizing.media.item import Item
from sizing.media.limits import tower_kinds
from sizing.scenario import Media, Scenario, ScenarioError

ENCODES = {"image": TensorClass.VISION, "video": TensorClass.VISION, "audio": TensorClass.AUDIO}
NAMES = {"image": ("an image", "images"), "video": ("a video", "videos"), "audio": ("an audio clip", "audio")}


@dataclass(frozen=True, slots=True)
class MediaTokens:
    """Tokens of one image, of the video and of the audio clip; None where the rule of the family is not known.

    A kind that is not in the sequence has none.
    """

    images: int
    image: int | None
    video: int | None
    audio: int | None

    @property
    def total(self) -> int | None:
        if self.image is None or self.video is None or self.audio is None:
            return None
        return self.images * self.image + self.video + self.audio

    @property
    def known(self) -> int:
        """Of the kinds whose rule is known."""
        return self.images * (self.image or 0) + (self.video or 0) + (self.audio or 0)

    @property
    def unknown(self) -> tuple[str, ...]:
        each = {"image": self.image, "video": self.video, "audio": self.audio}
        return tuple(kind for kind, tokens in each.items() if tokens is None)


def media_tokens(media: Media, spec: ModelSpec) -> MediaTokens:
    """Raises ScenarioError for a kind of media that the model does not take."""
    family = family_of(spec.model_type)
    for kind in kinds_of(media):
        _check_taken(kind, family, spec)
    height, width = media.height or 1, media.width or 1
    return MediaTokens(
        images=media.images,
        image=_tokens(family.image, media.images, height, width),
        video=_tokens(family.video, media.frames, media.frames, height, width),
        audio=_tokens(family.audio, media.audio_seconds, media.audio_seconds),
    )


def kinds_of(media: Media) -> Iterator[str]:
    """The kinds of media that a sequence carries."""
    for kind, number in (("image", media.images), ("video", media.frames), ("audio", media.audio_seconds)):
        if number:
            yield kind


def _tokens(rule: Callable[..., Item] | None, number: float, *size: float) -> int | None:
    if not number:
        return 0
    return rule(*size).tokens if rule else None


def _check_taken(kind: str, family: Family, spec: ModelSpec) -> None:
    if ENCODES[kind] not in tower_kinds(spec) and getattr(family, kind) is None:
        raise ScenarioError("media", f"This model takes no {NAMES[kind][1]}.")


def check_media(scenario: Scenario, spec: ModelSpec) -> None:
    """Raise ScenarioError where the media are more than the sequence, or more than media_limits allows."""
    if scenario.media is None:
        return
    _check_limits(scenario)
    tokens, length = media_tokens(scenario.media, spec).known, scenario.context_length or 0
    if tokens > length:
        raise ScenarioError(
            "media", f"The media of a sequence take {tokens:,} tokens, more than its {length:,} tokens in all."
        )


def _check_limits(scenario: Scenario) -> None:
    media, limits = scenario.media, scenario.media_limits
    if media is None or limits is None:
        return
    carried = {"image": media.images, "video": int(media.frames > 0), "audio": int(media.audio_seconds > 0)}
    for kind, number in carried.items():
        most = getattr(limits, kind)
        if most is not None and number > most:
            raise ScenarioError("media", f"media_limits allows {most:,} {NAMES[kind][1]} in a request, not {number:,}.")


def media_notes(tokens: MediaTokens, spec: ModelSpec) -> tuple[str, ...]:
    return tuple(
        f"How many tokens {NAMES[kind][0]} takes is not known here for {spec.model_type} models; it is not counted."
        for kind in tokens.unknown
    )
