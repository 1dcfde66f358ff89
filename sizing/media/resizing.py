"""To what size a processor brings an image before it is cut into patches. Heights and widths are in pixels.

Sources: image and video processors of transformers 5.24, under src/transformers/models.
"""

from math import ceil, floor, sqrt

Size = tuple[int, int]


def to_multiples(height: int, width: int, step: int, least: int, most: int, frames: int = 1, padded: int = 1) -> Size:
    """Sides rounded to the step, the area kept within bounds (smart_resize of qwen2_vl and qwen3_vl).

    Of a video all frames share the bounds; `padded` are the frames with those that fill up the last patch.
    """
    high, wide = round(height / step) * step, round(width / step) * step
    area = padded * high * wide
    if area > most:
        shrink = sqrt(frames * height * width / most)
        return max(step, floor(height / shrink / step) * step), max(step, floor(width / shrink / step) * step)
    if area < least:
        grow = sqrt(least / (frames * height * width))
        return ceil(height * grow / step) * step, ceil(width * grow / step) * step
    return high, wide


def up_to_multiples(height: int, width: int, step: int, least: int, most: int) -> Size:
    """Sides rounded up; where that is too much, the largest of the same shape (smart_resize of glm5_next).

    `least` and `most` are numbers of steps × steps.
    """
    high, wide = aligned(height, step), aligned(width, step)
    if high * wide < least * step**2:
        grow = sqrt(least * step**2 / (height * width))
        high, wide = aligned(ceil(height * grow), step), aligned(ceil(width * grow), step)
    if high * wide <= most * step**2:
        return high, wide
    low, over, best = 1, height + 1, (step, step)
    while low < over:
        middle = (low + over) // 2
        sides = aligned(middle, step), aligned(max(1, width * middle // height), step)
        if sides[0] * sides[1] <= most * step**2:
            low, best = middle + 1, sides
        else:
            over = middle
    return best


def within_patches(height: int, width: int, patch: int, merge: int, most: int, side: int) -> Size:
    """Shrunk to so many patches, in all and along a side, then padded to whole merges (navit_resize of kimi_k25)."""
    patches = max(1, height // patch) * max(1, width // patch)
    scale = min(1.0, sqrt(most / patches), side * patch / height, side * patch / width)
    high, wide = (min(max(1, int(length * scale)), side * patch) for length in (height, width))
    return aligned(high, merge * patch), aligned(wide, merge * patch)


def filling(height: int, width: int, step: int, most: int) -> Size:
    """As large as fits into so many steps × steps with the same shape (get_aspect_ratio_preserving_size of gemma4)."""
    scale = sqrt(most * step**2 / (height * width))
    high, wide = floor(scale * height / step), floor(scale * width / step)
    if not high:
        return step, min(max(1, width // height), most) * step
    if not wide:
        return min(max(1, height // width), most) * step, step
    return high * step, wide * step


def longest_side(height: int, width: int, step: int, longest: int) -> Size:
    """Shrunk to the longest side, then sides rounded up (get_resize_output_image_size of pixtral)."""
    ratio = max(height, width) / longest
    if ratio > 1:
        height, width = floor(height / ratio), floor(width / ratio)
    return aligned(height, step), aligned(width, step)


def aligned(length: int, step: int) -> int:
    """Rounded up."""
    return max(1, ceil(length / step)) * step
