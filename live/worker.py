"""The process that a live job runs in: one JSON job on stdin, one JSON event a line on stdout. `python -m live.worker`

A run needs gigabytes, may run out of them and must be stoppable, so it never shares a process with the app. When the
app closes stdin, or is gone, the job stops.
"""

import json
import os
import platform
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, TextIO

from live.layers import DryRun, dry_run
from live.receipts import Device, Receipt, Run, Settings
from model_catalog.fields import ConfigError
from sizing.scenario import ScenarioError

DRY_RUN_MEMORY = 12 * 2**30  # address space beyond what importing torch took; a 1,000B model's modules take about 2
EVENTS_EVERY = 0.4  # seconds between two series sent while a run goes


def main() -> None:
    """Read the job, do it, say what happened. Libraries that print cannot get between the events."""
    events = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    job = json.loads(sys.stdin.readline())
    stop = threading.Event()
    threading.Thread(target=_wait_for_end, args=(sys.stdin, stop), daemon=True).start()
    try:
        for event in perform(job, stop):
            print(json.dumps(event), file=events)
    except MemoryError:
        print(json.dumps({"fault": "Out of memory before the first measurement."}), file=events)
    events.flush()
    os._exit(0)  # the thread that waits on stdin must not hold the end up


def _wait_for_end(stdin: TextIO, stop: threading.Event) -> None:
    stdin.read()
    stop.set()


def perform(job: dict[str, Any], stop: threading.Event) -> Iterator[dict[str, Any]]:
    """Events of a job: {"text"} while it goes, then {"receipt"} or {"dry_run"}, or {"fault"} with a sentence."""
    try:
        import torch  # noqa: F401
        import transformers  # noqa: F401
    except ImportError as error:
        yield {"fault": f"Running here needs torch and transformers ({error})."}
        return
    yield from _dry_run(job) if job["job"] == "dry_run" else _measure(job, stop)


def _measure(job: dict[str, Any], stop: threading.Event) -> Iterator[dict[str, Any]]:
    from live.device import NoDevice, is_out_of_memory, leave_a_core
    from live.loading import CannotLoad
    from live.measuring import NoRoom, measure

    leave_a_core()
    settings = Settings.model_validate(job["settings"])
    device, run, sent = Device(kind="cpu", name=""), None, 0.0
    try:
        for progress in measure(settings, stop.is_set):
            device, run = progress.device or device, progress.run
            event: dict[str, Any] = {"text": progress.text}
            if run is not None and time.monotonic() - sent > EVENTS_EVERY:
                sent = time.monotonic()
                event["receipt"] = receipt_of([run], device).model_dump(mode="json")
            yield event
    except (CannotLoad, NoDevice, NoRoom, ScenarioError, ConfigError) as error:
        yield {"fault": str(error)}
        return
    except Exception as error:
        memory = "Out of memory before the first measurement." if is_out_of_memory(error) else None
        yield {"fault": memory or _unexpected(error)}
        return
    if run is not None:
        yield {"text": "Done", "receipt": receipt_of([run], device).model_dump(mode="json"), "done": True}


def receipt_of(runs: list[Run], device: Device, note: str | None = None) -> Receipt:
    """What was measured, with this machine's versions and the time."""
    import torch
    import transformers

    versions = {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "system": platform.system(),
    }
    if torch.version.cuda:
        versions["cuda"] = torch.version.cuda
    recorded = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return Receipt(recorded=recorded, device=device, versions=versions, note=note, runs=runs)


def _dry_run(job: dict[str, Any]) -> Iterator[dict[str, Any]]:
    from live.device import limit_address_space
    from live.dry_run import DryRunError

    limit_address_space(DRY_RUN_MEMORY)
    yield {"text": "Building the model on the meta device"}
    start = time.monotonic()
    try:
        done: DryRun = dry_run(job["config"], job["batch"], job["tokens"])
    except (DryRunError, ConfigError, ScenarioError) as error:
        yield {"fault": str(error)}
        return
    except MemoryError:
        raise
    except Exception as error:
        yield {"fault": _unexpected(error)}
        return
    done.seconds = round(time.monotonic() - start, 2)
    yield {"text": "Done", "dry_run": done.model_dump(mode="json"), "done": True}


def _unexpected(error: Exception) -> str:
    first = (str(error).strip().splitlines() or [""])[0][:200]
    return f"The library cannot run this: {type(error).__name__}: {first}"


if __name__ == "__main__":
    main()
