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
PREFIXES = ("", "model.", "language_model.model.", "model.language_model.")
LONGEST_PATTERN = 300
MOST_ALTERNATIVES = 64
CHOICE = re.compile(r"\((?:\?:)?([\w.|\\]*)\)(?![*+?{])")
TOKEN = re.compile(r"(?P<any>(?:\.|\\d|\[0-9\])[*+])|(?P<one>\.|\\d|\[0-9\])|\\(?P<escaped>\W)|(?P<plain>[\w-])")


class SkippedModules:
    """The skipped names of one checkpoint, sorted by how they match."""

    def __init__(self, names: tuple[str, ...]) -> None:
        plain = [_level(name) for name in names if not name.startswith("re:")]
        self._exact = frozenset(name for name in plain if "*" not in name)
        wild = [glob for name in plain if "*" in name for glob in (name, f"{name}.*")]
        wild += [_level(glob) for name in names if name.startswith("re:") for glob in globs(name[3:])]
        self._wild = re.compile("|".join(map(translate, wild))) if wild else None

    def __contains__(self, module: str) -> bool:
        """`module` as the inventory names it, such as layers.3.mlp.gate_proj or lm_head."""
        levelled = _level(module)
        if any(part in self._exact for part in _parts(levelled)):
            return True
        return self._wild is not None and any(self._wild.match(prefix + levelled) for prefix in PREFIXES)


def _level(name: str) -> str:
    short = BEFORE_LAYERS.sub("", name)
    for other, ours in LEVELLED:
        short = short.replace(other, ours)
    return short


@lru_cache(maxsize=4096)
def _parts(module: str) -> tuple[str, ...]:
    """Every run of whole parts in a name: a.b.c is skipped by a, b, c, a.b, b.c and a.b.c."""
    parts = module.split(".")
    ends = range(1, len(parts) + 1)
    return tuple(".".join(parts[first:last]) for last in ends for first in range(last))


def globs(pattern: str) -> list[str]:
    """Shell wildcards that match what a regular expression matches from the start of a name.

    The file is not trusted and a regular expression can run for ever, so only what such lists hold is read:
    names, any characters, digits, and choices in parentheses. Other patterns give nothing.
    """
    closed = pattern.endswith("$")
    alternatives = _chosen(pattern.removeprefix("^").removesuffix("$"))
    found = [_glob(each) for each in alternatives]
    return [glob if closed else f"{glob}*" for glob in found if glob is not None]


def _chosen(pattern: str) -> list[str]:
    """The pattern with each choice in parentheses spelled out."""
    open_ones = [pattern] if len(pattern) <= LONGEST_PATTERN else []
    done: list[str] = []
    while open_ones:
        each = open_ones.pop()
        choice = CHOICE.search(each)
        if choice is None:
            done.append(each)
        else:
            open_ones += [each[: choice.start()] + part + each[choice.end() :] for part in choice[1].split("|")]
        if len(open_ones) + len(done) > MOST_ALTERNATIVES:
            return []
    return done


def _glob(pattern: str) -> str | None:
    glob, at = "", 0
    while at < len(pattern):
        token = TOKEN.match(pattern, at)
        if token is None:
            return None
        glob += "*" if token["any"] else "?" if token["one"] else token["escaped"] or token["plain"]
        at = token.end()
    return re.sub(r"\*+", "*", glob)
