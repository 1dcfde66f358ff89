"""Module names that a checkpoint's config leaves unquantised, matched to the tensors of the inventory.

Three dialects: names of modules or of what holds them (transformers' modules_to_not_convert), exact names and
"re:" patterns (compressed-tensors ignore), shell wildcards (ModelOpt). The inventory has one name for what
checkpoints spell in several ways, so prefixes before "layers." and other names of blocks are levelled on both
sides.
"""

import re
from fnmatch import translate
from functools import lru_cache

BEFORE_LAYERS = re.compile(r"^(?:(?:model|language_model|text_model|transformer|decoder|backbone)\.)+")
LEVELLED = (
    (".block_sparse_moe", ".mlp"),
    (".feed_forward", ".mlp"),
    (".ffn", ".mlp"),
    (".attn.", ".self_attn."),
)
PREFIXES = ("model.", "language_model.model.", "model.language_model.", "")
LONGEST_PATTERN = 300


class SkippedModules:
    """The skipped names of one checkpoint, sorted by how they match."""

    def __init__(self, names: tuple[str, ...]) -> None:
        patterns = (_compiled(name[3:]) for name in names if name.startswith("re:"))
        self._patterns = [pattern for pattern in patterns if pattern]
        plain = [_level(name) for name in names if not name.startswith("re:")]
        wild = [f"{translate(name)}|{translate(name + '.*')}" for name in plain if "*" in name]
        self._wild = re.compile("|".join(wild)) if wild else None
        self._exact = frozenset(name for name in plain if "*" not in name)

    def __contains__(self, module: str) -> bool:
        """`module` as the inventory names it, such as layers.3.mlp.gate_proj or lm_head."""
        levelled = _level(module)
        if any(prefix in self._exact for prefix in _ancestors(levelled)):
            return True
        if self._wild and self._wild.match(levelled):
            return True
        return any(pattern.match(prefix + module) for pattern in self._patterns for prefix in PREFIXES)


def _level(name: str) -> str:
    short = BEFORE_LAYERS.sub("", name)
    for other, ours in LEVELLED:
        short = short.replace(other, ours)
    return short


@lru_cache(maxsize=4096)
def _ancestors(module: str) -> tuple[str, ...]:
    """Every run of whole parts in a name: a.b.c is skipped by a, b, c, a.b, b.c and a.b.c."""
    parts = module.split(".")
    ends = range(1, len(parts) + 1)
    return tuple(".".join(parts[first:last]) for last in ends for first in range(last))


def _compiled(pattern: str) -> re.Pattern[str] | None:
    """A pattern of an untrusted file: overlong and broken ones match nothing."""
    if len(pattern) > LONGEST_PATTERN:
        return None
    try:
        return re.compile(pattern)
    except re.error:
        return None
