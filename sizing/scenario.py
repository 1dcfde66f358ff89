"""Scenario: everything the user chose. The form, the URL, the command line and the tests all use this one model."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator

from sizing.faults import fault_of
from sizing.placement import Placement

Engine = Literal["minimum", "transformers", "vllm", "sglang", "llama.cpp", "tensorrt-llm"]
ENGINES: tuple[str, ...] = get_args(Engine)
LONGEST_CONTEXT = 2**31 - 1
LARGEST_BATCH = 2**20
LARGEST_MEMORY = 2**50

Count = Annotated[int, Field(ge=1, le=LARGEST_BATCH, strict=True)]
GroupSize = Annotated[int, Field(ge=1, le=4096, strict=True)]
Length = Annotated[int, Field(ge=1, le=LONGEST_CONTEXT, strict=True)]
Size = Annotated[int, Field(ge=0, le=LARGEST_MEMORY, strict=True)]
Name = Annotated[str, Field(min_length=1, max_length=300)]
IdOrPath = Annotated[str, Field(min_length=1, max_length=4096)]
GpuLayers = Annotated[int, Field(ge=0, le=100_000, strict=True)]
Share = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False, strict=True)]
Ratio = Annotated[float, Field(gt=0, le=100, allow_inf_nan=False, strict=True)]
Flag = Annotated[bool, Field(strict=True)]
SplitMode = Literal["layer", "row", "none", "tensor"]
MOST_DEVICES = 16  # that llama.cpp knows (GGML_CUDA_MAX_DEVICES)
GpuMemory = Annotated[int, Field(ge=1, le=LARGEST_MEMORY, strict=True)]
DeviceShare = Annotated[float, Field(ge=0, le=2**50, allow_inf_nan=False, strict=True)]


def _listed(value: Any) -> Any:
    """A text of numbers with commas between, and a number alone, as a list; anything else as it is."""
    if isinstance(value, str):
        return [_number(part) for part in value.split(",", MOST_DEVICES)]
    return [value] if isinstance(value, int | float) and not isinstance(value, bool) else value


def _number(text: str) -> float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


DeviceSizes = Annotated[tuple[GpuMemory, ...], BeforeValidator(_listed), Field(min_length=1, max_length=MOST_DEVICES)]
DeviceShares = Annotated[
    tuple[DeviceShare, ...], BeforeValidator(_listed), Field(min_length=1, max_length=MOST_DEVICES)
]


ANOTHER_CARD = {"total_memory_bytes": None, "memory_by_gpu": None}  # its own memory takes the place of sizes given
ANOTHER_COUNT = {"tensor_split": None}  # shares of GPUs are for so many of them


class ScenarioError(ValueError):
    """A Scenario that cannot be. `field` is the field that caused it."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field
        self.message = message


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class KvFormats(_Part):
    """Keys and values stored in different formats."""

    k: Name
    v: Name


class StateFormats(_Part):
    """Formats of the convolution window and of the recurrent state."""

    conv: Name
    recurrent: Name


class Speculative(_Part):
    """A draft: how it is made, how many tokens it proposes, and which checkpoint makes it (an id or path).

    `weights`: the precision of that checkpoint; None is as it is stored.
    """

    method: Name
    tokens: Count = 1
    model: IdOrPath | None = None
    weights: Name | None = None


class Lora(_Part):
    """Adapter slots kept in memory."""

    max_loras: Count
    rank: Count


Items = Annotated[int, Field(ge=0, le=999, strict=True)]


class MediaLimits(_Part):
    """The most images, videos and audio clips that one request may carry; None is the engine's own limit."""

    image: Items | None = None
    video: Items | None = None
    audio: Items | None = None


Pixels = Annotated[int, Field(ge=1, le=100_000, strict=True)]
Frames = Annotated[int, Field(ge=0, le=100_000, strict=True)]
Seconds = Annotated[float, Field(ge=0, le=86_400, allow_inf_nan=False, strict=True)]


class Media(_Part):
    """What each sequence carries beside text: images, a video of so many frames, both of one size in pixels, and audio.

    Its tokens are part of context_length.
    """

    images: Items = 0
    frames: Frames = 0
    width: Pixels | None = None
    height: Pixels | None = None
    audio_seconds: Seconds = 0


class Scenario(_Part):
    """One question to the core. Every field but `model` may be left out; None leaves it to the engine or the model.

    Lengths are in tokens, sizes in bytes. Each engine's own word and flag for a setting: sizing/engines/words.py. An
    engine refuses what it does not have.
    """

    scenario_version: Literal[1] = 1
    model: IdOrPath  # a catalog id, or a config.json, GGUF file or folder on this machine
    weights: Name = "auto"  # their precision; auto is as stored
    kv_dtype: Name | KvFormats = "auto"
    state_dtype: Literal["auto"] | StateFormats = "auto"
    engine: Engine = "vllm"
    engine_version: Name | None = None  # a release, or a build of llama.cpp

    accelerator: Name | None = None
    total_memory_bytes: Annotated[int, Field(ge=1, le=LARGEST_MEMORY, strict=True)] | None = None  # of each GPU
    other_memory_bytes: Size = 0  # that other processes take on each GPU
    tensor_parallel: GroupSize = 1
    pipeline_parallel: GroupSize = 1
    data_parallel: GroupSize = 1
    decode_context_parallel: GroupSize = 1
    expert_parallel: Flag = False
    dp_attention: Flag = False  # data_parallel counts replicas of attention among the tensor-parallel ranks

    context_length: Length | None = None  # of every sequence, or of the longest
    average_context_length: Length | None = None  # of a load of mixed lengths
    batch_size: Count = 1  # sequences at once, over all replicas

    max_model_len: Length | None = None
    max_num_seqs: Count | None = None
    max_num_batched_tokens: Length | None = None
    block_size: Length | None = None
    memory_fraction: Share | None = None
    enforce_eager: Flag | None = None
    prefix_caching: Flag | None = None
    hybrid_kv_cache_manager: Flag | None = None
    chunked_prefill_size: Length | None = None
    swa_full_tokens_ratio: Share | None = None
    mamba_full_memory_ratio: Ratio | None = None  # bytes of recurrent states for each byte of tokens
    max_mamba_cache_size: Count | None = None  # slots of recurrent states, in place of a ratio
    ubatch_size: Length | None = None
    kv_unified: Flag | None = None
    flash_attention: Flag | None = None
    swa_full: Flag | None = None
    gpu_layers: GpuLayers | None = None  # the last so many layers, and the output, are on GPUs
    cpu_moe_layers: GpuLayers | None = None  # the first so many leave their experts in host memory
    split_mode: SplitMode | None = None
    tensor_split: DeviceShares | None = None  # of each GPU
    kv_offload: Flag | None = None  # off: the cache is in host memory
    memory_by_gpu: DeviceSizes | None = None  # of each GPU, where they differ
    cpu_offload_bytes: Size | None = None  # of weights that each GPU leaves in host memory
    media_limits: MediaLimits | None = None  # a kind of input at 0 leaves its encoder out
    pooling: Flag | None = None  # hidden states are returned, as embeddings are, and there is no output head
    media: Media | None = None  # of each sequence
    speculative: Speculative | None = None
    lora: Lora | None = None
    shared_prefix_tokens: Annotated[int, Field(ge=0, le=LONGEST_CONTEXT, strict=True)] = 0  # that all begin with
    available_kv_bytes: Size | None = None  # of each GPU, in place of what the budget leaves

    @field_validator("media_limits")
    @classmethod
    def no_limits_are_null(cls, limits: MediaLimits | None) -> MediaLimits | None:
        """One way to say it, so that equal scenarios are equal."""
        return None if limits == MediaLimits() else limits

    @field_validator("media")
    @classmethod
    def no_media_is_null(cls, media: Media | None) -> Media | None:
        return media if media and (media.images or media.frames or media.audio_seconds) else None

    @property
    def placement(self) -> Placement:
        return Placement(
            tensor_parallel=self.tensor_parallel,
            pipeline_parallel=self.pipeline_parallel,
            data_parallel=self.data_parallel,
            decode_context_parallel=self.decode_context_parallel,
            expert_parallel=self.expert_parallel,
            dp_attention=self.dp_attention,
        )


def make_scenario(values: Mapping[str, Any]) -> Scenario:
    """A Scenario from untrusted values. Raises ScenarioError: the first field at fault and a sentence about it."""
    unknown = [name for name in values if name not in Scenario.model_fields]
    if unknown:
        raise ScenarioError(str(unknown[0])[:100], f'"{str(unknown[0])[:100]}" is not a field of a Scenario.')
    try:
        scenario = Scenario.model_validate(dict(values))
    except ValidationError as error:
        raise ScenarioError(*fault_of(error)) from None
    check_prefix(scenario)
    check_average(scenario)
    _check_size(scenario.media)
    return scenario


def _check_size(media: Media | None) -> None:
    if media and (media.images or media.frames) and (media.width is None or media.height is None):
        raise ScenarioError("media", "The tokens of an image depend on its size: media needs a width and a height.")


def check_average(scenario: Scenario) -> None:
    """Raise ScenarioError where the average is more than the longest, as far as that is stated."""
    average, longest = scenario.average_context_length, scenario.context_length
    if average is not None and longest is not None and average > longest:
        raise ScenarioError(
            "average_context_length",
            f"An average of {average:,} tokens is more than the {longest:,} tokens of the longest sequence.",
        )


def check_prefix(scenario: Scenario) -> None:
    """Raise ScenarioError where the shared prefix is longer than the sequences, as far as their length is stated."""
    if scenario.context_length is not None and scenario.shared_prefix_tokens > scenario.context_length:
        raise ScenarioError(
            "shared_prefix_tokens",
            f"A shared prefix of {scenario.shared_prefix_tokens:,} tokens is longer than the "
            f"{scenario.context_length:,} tokens of a sequence.",
        )
