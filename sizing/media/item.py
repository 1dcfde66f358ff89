"""One image, video or audio clip as an encoder sees it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Item:
    """`patches`: what the encoder reads, `encoded`: the embeddings that it gives.

    `tokens`: what stands in the prompt, the embeddings and the marks between their rows or tiles; the two to four marks
    around an item are not counted.
    """

    patches: int
    encoded: int
    tokens: int


def merged(patches: int, merge: int) -> Item:
    """Neighbouring merge × merge patches become one embedding."""
    encoded = patches // merge**2
    return Item(patches, encoded, encoded)
