"""Figures out of the lines that the core says SGLang and llama.cpp will print."""

import re
from collections.abc import Iterable

SGLANG_KEYS = re.compile(r"K size: ([\d.]+) GB, V size: ([\d.]+) GB")
SGLANG = {
    "cache_size": re.compile(r"KV size: ([\d.]+) GB"),
    "pool_size": re.compile(r"SWAKVPool mem usage: ([\d.]+) GB"),
    "window_tokens": re.compile(r"swa size: (\d+)|swa_layer_tokens=(\d+)"),
    "conv_size": re.compile(r"conv_state size: ([\d.]+)GB"),
    "ssm_size": re.compile(r"ssm_state size: ([\d.]+)GB"),
}
CACHE = re.compile(r"(?:llama_kv_cache\w*: size|KV self size)\s*=\s*([\d.]+) MiB(?: \(\s*(\d+) cells)?")
PAIR = re.compile(r"(?:K|c\^KV) \([\w]+\):\s*([\d.]+) MiB(?:, (?:V|kv\^T) \([\w]+\):\s*([\d.]+) MiB)?")
STATE = re.compile(r"llama_memory_recurrent: size =\s*([\d.]+) MiB.*R \(f32\):\s*([\d.]+) MiB, S \(f32\):\s*([\d.]+)")
BUFFER = re.compile(r":\s+(\S+)(?: model)? buffer size =\s*([\d.]+) MiB")
COMPUTE = re.compile(r":\s+(\S+) compute buffer size =\s*([\d.]+) MiB")


def sglang_figures(lines: Iterable[str]) -> dict[str, float]:
    """Where there are two pools, that of the windows is printed first."""
    text = "\n".join(lines)
    pairs = SGLANG_KEYS.findall(text)
    found = {}
    for prefix, pair in zip(("", "window_"), reversed(pairs), strict=False):
        found[f"{prefix}key_size"], found[f"{prefix}value_size"] = map(float, pair)
    for name, pattern in SGLANG.items():
        if match := pattern.search(text):
            found[name] = float(next(group for group in match.groups() if group))
    return found


def llama_figures(lines: Iterable[str], drafts: bool) -> dict[str, float]:
    """The second cache is that of the draft if there is one, else that of the windows. Buffers: the first device's."""
    found: dict[str, float] = {}
    roles = iter(("main", "draft" if drafts else "window"))
    for line in lines:
        if match := CACHE.search(line):
            role = next(roles)
            found |= _cache(role, match, PAIR.search(line))
        elif match := STATE.search(line):
            found |= dict(zip(("state", "state_conv", "state_recurrent"), map(float, match.groups()), strict=True))
        elif match := COMPUTE.search(line):
            found.setdefault("compute", float(match[2]))
        elif match := BUFFER.search(line):
            found.setdefault("host_weights" if match[1].startswith("CPU") else "device_weights", float(match[2]))
    found["total"] = sum(found.get(role, 0.0) for role in ("main", "draft", "window", "state"))
    found["total_gb"] = found["total"] * 2**20 / 10**9
    return found


def _cache(role: str, size: re.Match[str], pair: re.Match[str] | None) -> dict[str, float]:
    found = {role: float(size[1])}
    if size[2]:
        found[f"{role}_cells"] = float(size[2])
    if pair:
        found[f"{role}_key"] = float(pair[1])
        found[f"{role}_value"] = float(pair[2] or 0)
    return found
