"""Engine release texts, and their order (the order of PEP 440: dev < a < b < rc < release < post)."""

import re
from dataclasses import dataclass
from functools import lru_cache

_NUMBERS = re.compile(r"v?(\d+(?:\.\d+)*)", re.IGNORECASE)
_BEFORE = re.compile(r"[._-]?(a|alpha|b|beta|c|rc|pre|preview)[._-]?(\d*)", re.IGNORECASE)
_AFTER = re.compile(r"[._-]?(?:post|rev|r)[._-]?(\d*)", re.IGNORECASE)
_DEV = re.compile(r"[._-]?dev[._-]?(\d*)", re.IGNORECASE)
_STAGES = {"a": -3, "alpha": -3, "b": -2, "beta": -2}  # every other name is a release candidate's
_RC, _RELEASE, _LONE_DEV = -1, 0, -4
_NO_DEV = 10**9


@dataclass(frozen=True, slots=True, order=True)
class Version:
    """`release` without trailing zeros, then the stage (pre-release, release), post-release and dev numbers."""

    release: tuple[int, ...]
    stage: int = _RELEASE
    stage_number: int = 0
    post: int = -1
    dev: int = _NO_DEV


@lru_cache(maxsize=1024)
def parse_version(text: str) -> Version | None:
    """The Version of a release text; local parts (+g101584af0) are ignored. None where it starts with no number."""
    plain = text.strip().split("+")[0]
    numbers = _NUMBERS.match(plain)
    if numbers is None:
        return None
    release = tuple(int(part[:9]) for part in numbers[1].split("."))
    rest = plain[numbers.end() :]
    stage, number, rest = _stage(rest)
    post = _AFTER.match(rest)
    rest = rest[post.end() :] if post else rest
    dev = _DEV.match(rest)
    if dev and stage == _RELEASE and post is None:
        stage = _LONE_DEV
    return Version(
        _without_zeros(release), stage, number, _number(post[1]) if post else -1, _number(dev[1]) if dev else _NO_DEV
    )


def at_least(version: Version, release: str) -> bool:
    """Whether `version` is `release` or later; release candidates of `release` are not."""
    wanted = parse_version(release)
    return wanted is None or version >= wanted


def release_of(
    text: str | None, engine: str, *, oldest: str, newest: str, untagged: str | None = None
) -> tuple[str, Version, tuple[str, ...]]:
    """The release to name, the Version to go by, and what to say where it is not one that is modelled.

    Builds from a checkout without tags call themselves something below `untagged`; they go by the newest rules.
    """
    last, first = parse_version(newest), parse_version(oldest)
    assert last is not None and first is not None
    if text is None:
        return newest, last, ()
    version, shown = parse_version(text), text[:40]
    if version is None:
        return text, last, (f'"{shown}" is no {engine} release; the rules used are those of {newest}.',)
    if untagged is not None and not at_least(version, untagged):
        return text, last, (f"{shown} is a build without a release; the rules used are those of {newest}.",)
    if version.release[: newest.count(".") + 1] > last.release or version < first:
        nearest = newest if version > last else oldest
        return text, version, (f"{engine} {shown} is not modelled; the rules used are those of {nearest}.",)
    return text, version, ()


def _stage(text: str) -> tuple[int, int, str]:
    found = _BEFORE.match(text)
    if found is None:
        return _RELEASE, 0, text
    return _STAGES.get(found[1].lower(), _RC), _number(found[2]), text[found.end() :]


def _number(text: str) -> int:
    return int(text[:9] or 0)


def _without_zeros(release: tuple[int, ...]) -> tuple[int, ...]:
    while len(release) > 1 and release[-1] == 0:
        release = release[:-1]
    return release
