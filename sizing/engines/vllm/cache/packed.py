"""Groups of layers with different pages where a block is outermost in memory (DeepSeek-V4; section 2.2, case 3).

Layers of one type form a bucket. A bucket with as many layers of each page size repeats a pattern; all such buckets
are cut into groups of about the same number of repeats. Other buckets stay whole.
"""

from collections import defaultdict

from sizing.engines.vllm.cache.layers import Member, same_type


def pattern_groups(members: list[Member]) -> list[list[Member]]:
    buckets = [_by_page(bucket) for bucket in _buckets(members)]
    repeats = _repeats([pages for pages in buckets if _balanced(pages)])
    return [group for pages in buckets for group in _cut(pages, repeats if _balanced(pages) else None)]


def _buckets(members: list[Member]) -> list[list[Member]]:
    found: list[list[Member]] = []
    for member in members:
        for bucket in found:
            if same_type(bucket[0][1], member[1]):
                bucket.append(member)
                break
        else:
            found.append([member])
    return found


def _by_page(bucket: list[Member]) -> list[list[Member]]:
    pages: defaultdict[int, list[Member]] = defaultdict(list)
    for member in bucket:
        pages[member[1].page].append(member)
    return list(pages.values())


def _balanced(pages: list[list[Member]]) -> bool:
    return len({len(layers) for layers in pages}) == 1


def _repeats(balanced: list[list[list[Member]]]) -> int | None:
    """Repeats a group: least padding over all buckets, at least those of buckets that must stay whole."""
    least = max((len(pages[0]) for pages in balanced if len(pages) > 1), default=0)
    if not least:
        return None
    counts = [len(pages[0]) for pages in balanced]
    return min(range(least, max(counts) + 1), key=lambda size: (sum(-count % size for count in counts), -size))


def _cut(pages: list[list[Member]], repeats: int | None) -> list[list[Member]]:
    if repeats is None or len(pages[0]) <= repeats:
        return [[member for layers in pages for member in layers]]
    groups = -(-len(pages[0]) // repeats)
    pattern = list(zip(*pages, strict=True))
    return [[member for repeat in pattern[first::groups] for member in repeat] for first in range(groups)]
