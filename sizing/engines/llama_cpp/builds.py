"""llama.cpp has no releases: builds are numbered by commit, and rules changed on dates. A version text becomes a date.

Accepted: a build number (b9010, "build 5622 (97340b4c)", "4615 (bfcce4d6)"), a date (2025-06-28, 2024-05), and either
after "ik" for the ik_llama.cpp fork, whose build numbers are its own.
"""

import re
from bisect import bisect_right
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache

NEWEST, NEWEST_DATE = "b11195", date(2026, 9, 26)  # the rules are those of commit 0c1e57098 of 2026-10-01
OLDEST, OLDEST_DATE = "b2793", date(2024, 5, 6)
READ_UNTIL = date(2026, 10, 1)

# Build numbers with their dates: releases as other projects' updates and logs name them (issue and pull-request threads
# of ggml-org/llama.cpp, ollama/ollama, docker/model-runner, xorbitsai/xllamacpp, wimpysworld/nix-config; receipts l002,
# l023, l033). A date between two of them is interpolated and right to a few days.
BUILDS = (
    (2793, OLDEST_DATE),
    (3600, date(2024, 8, 17)),
    (4017, date(2024, 11, 3)),
    (4615, date(2025, 2, 2)),
    (5400, date(2025, 5, 15)),
    (5600, date(2025, 6, 6)),
    (5622, date(2025, 6, 10)),
    (5857, date(2025, 7, 10)),
    (5950, date(2025, 7, 21)),
    (6327, date(2025, 8, 31)),
    (6451, date(2025, 9, 13)),
    (7045, date(2025, 11, 13)),
    (7450, date(2025, 12, 14)),
    (7550, date(2025, 12, 27)),
    (7600, date(2026, 1, 1)),
    (7815, date(2026, 1, 23)),
    (7966, date(2026, 2, 7)),
    (8156, date(2026, 2, 25)),
    (8200, date(2026, 3, 9)),
    (8651, date(2026, 4, 3)),
    (8864, date(2026, 4, 21)),
    (8953, date(2026, 4, 28)),
    (9010, date(2026, 5, 3)),
    (9174, date(2026, 5, 16)),
    (9701, date(2026, 6, 18)),
    (10431, date(2026, 8, 14)),
    (10630, date(2026, 8, 25)),
    (10760, date(2026, 9, 2)),
    (10864, date(2026, 9, 8)),
    (11195, NEWEST_DATE),
)
_DATE = re.compile(r"\b(20\d\d)-(\d\d)(?:-(\d\d))?\b")
_BUILD = re.compile(r"(?:^|\bb|\bbuild[ :]*)(\d{3,6})\b")
_FORK = re.compile(r"^\s*ik(?:_llama\.cpp)?\b", re.IGNORECASE)
_MLA = re.compile(r"\bmla[ =]?([0-3])\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Build:
    """`mla` is the fork's -mla option where the text names it. `text` is how the build was named."""

    text: str
    date: date
    fork: bool = False
    mla: int | None = None
    note: str | None = None


@lru_cache(maxsize=1024)
def build_of(text: str | None) -> Build:
    """The build of a version text; one that names neither build nor date goes by the newest rules, with a note."""
    if text is None:
        return Build(NEWEST, NEWEST_DATE)
    fork = _FORK.match(text) is not None
    mla = _MLA.search(text) if fork else None
    mode = int(mla[1]) if mla else None
    when = _stated_date(text)
    number = None if fork or _DATE.search(text) else _BUILD.search(text.strip())
    if number:
        when = date_of_build(int(number[1]))
    if when is None:
        return Build(text, NEWEST_DATE, fork, mode, None if fork else _unknown(text))
    return Build(text, when, fork, mode, _outside(text, when))


def _stated_date(text: str) -> date | None:
    """A day of the text; a month alone is its middle."""
    found = _DATE.search(text)
    if found is None:
        return None
    try:
        return date(int(found[1]), int(found[2]), int(found[3] or 15))
    except ValueError:
        return None


def date_of_build(number: int) -> date:
    """Interpolated between the builds that are known; before or after all of them, a day outside the range."""
    after = bisect_right(BUILDS, number, key=lambda known: known[0])
    if after == 0:
        return OLDEST_DATE - timedelta(days=1)
    if after == len(BUILDS):
        return NEWEST_DATE if number == BUILDS[-1][0] else READ_UNTIL + timedelta(days=1)
    (low, start), (high, end) = BUILDS[after - 1], BUILDS[after]
    return start + timedelta(days=round((end - start).days * (number - low) / (high - low)))


def _unknown(text: str) -> str:
    return f'"{text[:40]}" names no llama.cpp build or date; the rules used are those of {NEWEST}.'


def _outside(text: str, when: date) -> str | None:
    if OLDEST_DATE <= when <= READ_UNTIL:
        return None
    nearest = OLDEST if when < OLDEST_DATE else NEWEST
    return f"llama.cpp {text[:40]} is not modelled; the rules used are those of {nearest}."
