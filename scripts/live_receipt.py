"""Everything the Live page measures, headless: `python -m scripts.live_receipt [OUT.json] [--seconds 240]`

Runs each cache family with a dynamic and a static cache, with recomputation and a padded batch, on CUDA if there is a
GPU (else MPS, else the CPU), and writes one receipt with the device's name. Unattended it ends within --seconds: a run
that would start too late is left out, and the receipt's note says so. Exit code 1 where a measured byte differs from
its prediction.
"""

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from live.device import choose_device, describe, leave_a_core
from live.families import FAMILIES
from live.measuring import measure
from live.prediction import predicted_of, residuals
from live.receipts import RECORDED, Run, Settings, write_receipt
from live.worker import receipt_of

GPU_TOKENS = {"batch": 4, "prompt_tokens": 1024, "new_tokens": 256}
CPU_TOKENS = {"batch": 2, "prompt_tokens": 448, "new_tokens": 96}
SECONDS = 240.0
SHARE = 0.25  # of the time that is left: the most that one run may take


def wanted(on_gpu: bool) -> Iterator[Settings]:
    """Dynamic caches first, then static ones; recomputation and padding once for each family."""
    tokens = GPU_TOKENS if on_gpu else CPU_TOKENS
    for cache in ("dynamic", "static"):
        for family in FAMILIES:
            extras = {"recompute": cache == "dynamic", "padding": cache == "dynamic"}
            yield Settings.model_validate({"family": family, "cache": cache, **tokens, **extras})


def record(settings: Settings, seconds: float) -> Run | None:
    """One run within `seconds`; None where it had to give up before its first measurement."""
    limited = settings.model_copy(update={"seconds_limit": max(1.0, seconds)})
    run = None
    for progress in measure(limited):
        run = progress.run or run
    return run


def report(run: Run) -> bool:
    """Print one line; whether every step was as predicted."""
    off = [residual for residual in residuals(run, predicted_of(run)) if residual]
    settings = run.settings
    said = f"{len(off)} steps differ" if off else "as predicted"
    ended = f"; {run.finding.message}" if run.finding else ""
    print(f"{settings.family:<12} {settings.cache:<8} {len(run.steps.tokens):>5} steps, {said}{ended}", flush=True)
    return not off


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path, nargs="?", help="default: live/recorded/<device>.json")
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--note", help="a sentence about the machine that readers should know")
    asked = parser.parse_args()
    leave_a_core()
    kind = choose_device("auto")
    device, start = describe(kind), time.monotonic()
    runs, left_out, equal = [], [], []
    print(f"Measuring on {device.name}", flush=True)
    for settings in wanted(kind == "cuda"):
        left = asked.seconds - (time.monotonic() - start)
        run = record(settings, left * SHARE) if left > asked.seconds * 0.05 else None
        if run is None or not run.steps.tokens:
            left_out.append(f"{settings.family}, {settings.cache}")
        else:
            runs.append(run)
            equal.append(report(run))
    missing = f"Left out for lack of time: {'; '.join(left_out)}." if left_out else ""
    note = " ".join(part for part in (asked.note or "", missing) if part) or None
    out = asked.out or RECORDED / f"{'-'.join(device.name.lower().replace(',', '').split())}.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(write_receipt(receipt_of(runs, device, note)), encoding="utf-8")
    print(f"Wrote {out} after {time.monotonic() - start:,.0f} s")
    return 0 if all(equal) else 1


if __name__ == "__main__":
    sys.exit(main())
