"""A pasted config.json inside a link: compressed, bounded both ways."""

import base64
import zlib

from model_catalog.config_text import LONGEST_TEXT

DAMAGED = "The config in the link is damaged, so it is left out."
LONGEST_PARAMETER = 6_000  # characters; servers and chats cut longer addresses


def pack(text: str) -> str | None:
    """URL-safe text, or None where it would be too long for a link."""
    packed = base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode().rstrip("=")
    return packed if len(packed) <= LONGEST_PARAMETER else None


def unpack(parameter: str) -> str:
    """Raises ValueError with a sentence for what `pack` did not make."""
    if len(parameter) > LONGEST_PARAMETER:
        raise ValueError("The config in the link is too long to be read.")
    try:
        data = base64.b64decode(parameter + "=" * (-len(parameter) % 4), altchars=b"-_", validate=True)
        inflater = zlib.decompressobj()
        text = inflater.decompress(data, LONGEST_TEXT).decode()
    except (ValueError, zlib.error):
        raise ValueError(DAMAGED) from None
    if not inflater.eof:
        raise ValueError(DAMAGED)
    return text
