"""Jobs in the background: each in a process of its own that is started, listened to, stopped and cleaned up here.

One job runs at a time on this machine, since two would disturb each other's times and memory. A job ends when it is
done, stopped, too late, or when nobody has asked for it for a while (the browser was closed).
"""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).parents[1]
GRACE = 5.0  # seconds between being asked to stop and being killed
ABANDONED_AFTER = 90.0  # seconds without anybody asking; a page asks every second, one in a hidden tab every minute
LONGEST_LINE = 8_000_000  # characters of one event
TICK = 0.2


class Busy(RuntimeError):
    """Another job is running on this machine."""


@dataclass
class Job:
    """What is known of a job. `result` is its newest series; `fault` a sentence once it has failed."""

    kind: str
    seconds_limit: float
    about: str = ""
    text: str = "Starting"
    result: dict[str, Any] | None = None
    fault: str | None = None
    ended: bool = False
    started: float = field(default_factory=time.monotonic)
    asked: float = field(default_factory=time.monotonic)
    process: "subprocess.Popen[str] | None" = field(default=None, repr=False)
    done: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def look(self) -> None:
        """Somebody is watching."""
        self.asked = time.monotonic()

    def stop(self) -> None:
        """Ask the job to finish with what it has; it is killed if it does not."""
        self.close_input()
        late = threading.Timer(GRACE, self.kill, ("Stopped",))
        late.daemon = True
        late.start()

    def close_input(self) -> None:
        """What the process waits for to end; it may be gone already."""
        with self._lock, suppress(OSError):
            if self.process and self.process.stdin:
                self.process.stdin.close()

    def kill(self, why: str) -> None:
        """End the process at once; `why` becomes the fault."""
        if self.process and self.process.poll() is None:
            self.fault = self.fault or f"{why} at: {self.text}."
            self.process.kill()

    def wait(self, seconds: float) -> bool:
        """Whether the job ended within this time."""
        end = time.monotonic() + seconds
        while not self.ended and time.monotonic() < end:
            time.sleep(0.02)
        return self.ended


_running: list[Job] = []
_starting = threading.Lock()


def start(kind: str, payload: Mapping[str, Any], seconds_limit: float, about: str = "") -> Job:
    """Start `live.worker` on a job ("measure" or "dry_run"); `about` is the caller's own. Raises Busy."""
    with _starting:
        _running[:] = [job for job in _running if not job.ended]
        if _running:
            raise Busy("A run is going on this machine, perhaps another visitor's. One goes at a time; try again soon.")
        job = Job(kind, seconds_limit, about)
        _running.append(job)
    try:
        job.process = _spawn({"job": kind, **payload})
    except OSError as error:
        job.fault, job.ended = f"The measuring process cannot be started: {error.strerror}.", True
        return job
    threading.Thread(target=_listen, args=(job,), daemon=True).start()
    threading.Thread(target=_watch, args=(job,), daemon=True).start()
    return job


def _spawn(job: Mapping[str, Any]) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-m", "live.worker"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
    )
    assert process.stdin is not None
    process.stdin.write(json.dumps(job) + "\n")
    process.stdin.flush()
    return process


def _listen(job: Job) -> None:
    """Take in events until the process ends, then say how it ended if it did not say so itself."""
    assert job.process is not None and job.process.stdout is not None
    for line in _lines(job.process.stdout):
        _take(job, line)
    code = job.process.wait()
    if not job.done and job.fault is None:
        job.fault = _ending(job, code)
    job.process.stdout.close()
    job.close_input()
    job.ended = True


def _lines(stream: IO[str]) -> Iterator[str]:
    while line := stream.readline(LONGEST_LINE):
        yield line


def _take(job: Job, line: str) -> None:
    try:
        event = json.loads(line)
    except ValueError:
        return
    job.text = str(event.get("text", job.text))[:300]
    job.result = event.get("receipt") or event.get("dry_run") or job.result
    job.done = bool(event.get("done"))
    if "fault" in event:
        job.fault = str(event["fault"])[:1000]


def _ending(job: Job, code: int) -> str:
    if code == -9:
        return f"The system ended the process, most likely for memory, at: {job.text}."
    return f"The process ended unexpectedly (code {code}) at: {job.text}."


def _watch(job: Job) -> None:
    """Stop a job that is late or that nobody watches."""
    while not job.ended:
        time.sleep(TICK)
        now = time.monotonic()
        if now - job.asked > ABANDONED_AFTER:
            job.kill("Nobody watched the run any more, so it was ended")
        elif now - job.started > job.seconds_limit + GRACE:
            job.kill(f"The job took longer than {job.seconds_limit:,.0f} s and was ended")
