"""Exact arithmetic on numbers or int64 arrays of tokens and sequences: one code path for single cells and maps."""

from fractions import Fraction

from sizing.arrays import Tokens


def up(amount: Tokens, step: int) -> Tokens:
    """The next multiple of `step`."""
    return amount if step == 1 else -(-amount // step) * step


def times(amount: Tokens, factor: Fraction) -> Tokens:
    """⌈amount × factor⌉ in integers that stay small."""
    whole, part = divmod(factor.numerator, factor.denominator)
    return amount * whole - (-amount * part // factor.denominator) if part else amount * whole


def over(amount: Tokens, factor: Fraction) -> Tokens:
    """⌈amount / factor⌉."""
    return -(-amount * factor.denominator // factor.numerator)
