"""Embeddings of an audio clip. Sources: processors of transformers 5.24, and of vLLM for Voxtral."""

from math import ceil

from sizing.media.item import Item

RATE, HOP = 16_000, 160  # samples a second, and from one mel frame to the next


def _frames(seconds: float) -> int:
    return int(seconds * RATE) // HOP


def by_halves(seconds: float, longest: int) -> Item:
    """Two strides of 2, the second a pooling (processing_qwen2_audio.py, qwen2_5_omni); `longest` in seconds."""
    frames = _frames(min(seconds, longest))
    encoded = max(0, ((frames - 1) // 2 + 1 - 2) // 2 + 1)
    return Item(frames, encoded, encoded)


def by_eighths(seconds: float) -> Item:
    """13 for each whole second, three strides of 2 for what is left (_get_feat_extract_output_lengths, qwen3_omni)."""
    frames = _frames(seconds)
    left = frames % 100
    for _ in range(3):
        left = (left - 1) // 2 + 1
    encoded = left + frames // 100 * 13
    return Item(frames, encoded, encoded)


def gemma4(seconds: float, most: int = 750) -> Item:
    """Two strides of 2 over mel frames of 20 ms (_compute_audio_num_tokens of processing_gemma4.py)."""
    frames = max(0, (int(seconds * RATE) + HOP - (2 * HOP + 1)) // HOP + 1)
    encoded = min(most, ((frames - 1) // 2 + 1 - 1) // 2 + 1) if frames else 0
    return Item(frames, encoded, encoded)


def by_chunks(seconds: float, chunk: int = 30, each: int = 375) -> Item:
    """Padded to whole chunks of 30 s (mistral-common; vllm/transformers_utils/processors/voxtral.py)."""
    chunks = ceil(seconds / chunk)
    return Item(chunks * chunk * RATE // HOP, chunks * each, chunks * each)
