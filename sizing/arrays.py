"""Arithmetic that takes single numbers and int64 arrays alike, so that cells of a map and single answers share a path.

numpy is imported once an array has come: a single Scenario is answered without it, which halves a cold start.
"""

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Tokens: TypeAlias = "int | NDArray[np.int64]"


def larger(one: Tokens, other: Tokens) -> Tokens:
    if isinstance(one, int) and isinstance(other, int):
        return max(one, other)
    import numpy as np

    return np.maximum(one, other)


def smaller(one: Tokens, other: Tokens) -> Tokens:
    if isinstance(one, int) and isinstance(other, int):
        return min(one, other)
    import numpy as np

    return np.minimum(one, other)


def at_most(tokens: Tokens, limit: int | None) -> Tokens:
    return tokens if limit is None else smaller(tokens, limit)


def not_negative(tokens: Tokens) -> Tokens:
    return larger(tokens, 0)


def where(condition: Any, one: Tokens, other: Tokens) -> Tokens:
    """`one` where the condition (a truth value or an array of them) holds, else `other`."""
    if isinstance(condition, bool):
        return one if condition else other
    import numpy as np

    return np.where(condition, one, other)
