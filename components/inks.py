"""The colours. Saturated colour belongs to memory terms and to the verdict; everything else is ink.

Each term's colour has at least 3:1 on both themes' backgrounds, so the palette is the same in light and dark.
"""

WEIGHTS = "#4B6AE5"
ACTIVATIONS = "#1E9E89"
GRAPHS = "#998ACB"
RUNTIME = "#5E6369"
STATE = "#AC3296"
KV = "#CA580F"
NEUTRAL = "#7C8594"
SHORT = "#D1242F"

# Streamlit swaps these two placeholders for its theme's text and background in every Plotly figure (not documented;
# the browser test asserts that they are resolved in both themes).
INK = "#000037"
PAPER = "#000038"


def faded(colour: str, alpha: float) -> str:
    """The colour as rgba with this opacity."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{alpha:g})"
