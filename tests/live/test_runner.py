"""Jobs in processes of their own: they end, whatever happens to them, and the app's process keeps its memory."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from live import runner
from live.runner import Busy, Job

ROOT = Path(__file__).parents[2]
RECEIPT_LINE = json.dumps({"text": "Decoding", "receipt": {"x": 1}})


@pytest.fixture(autouse=True)
def _nothing_left() -> Iterator[None]:
    yield
    for job in runner._running:
        job.kill("Test over")
        job.wait(10)
    runner._running.clear()


def stand_in(monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """A process that does what `script` says instead of measuring."""

    def spawn(job: object) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )

    monkeypatch.setattr(runner, "_spawn", spawn)
    monkeypatch.setattr(runner, "GRACE", 0.5)


def finished(job: Job, seconds: float = 20) -> Job:
    end = time.monotonic() + seconds
    while not job.ended and time.monotonic() < end:
        job.look()
        time.sleep(0.02)
    assert job.ended
    assert job.process is None or job.process.poll() is not None
    return job


def test_events_become_text_and_result(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, f'print(\'not json\'); print({RECEIPT_LINE!r}); print(\'{{"text": "Done", "done": true}}\')')
    job = finished(runner.start("measure", {}, 10))
    assert (job.text, job.result, job.fault, job.done) == ("Done", {"x": 1}, None, True)


def test_one_job_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, "import sys; sys.stdin.read()")
    first = runner.start("measure", {}, 30)
    with pytest.raises(Busy, match="perhaps another visitor's"):
        runner.start("dry_run", {}, 30)
    first.stop()
    finished(first)
    finished(runner.start("dry_run", {}, 0.1))


def test_stop_closes_the_jobs_input_and_it_ends_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    done = '{\\"text\\": \\"Done\\", \\"done\\": true}'
    stand_in(monkeypatch, f'import sys; sys.stdin.read(); print("{done}")')
    job = runner.start("measure", {}, 30)
    time.sleep(0.3)
    assert not job.ended
    job.stop()
    assert finished(job).fault is None


def test_a_job_that_does_not_stop_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, f"import time; print({RECEIPT_LINE!r}, flush=True); time.sleep(60)")
    job = runner.start("measure", {}, 30)
    while job.result is None:
        time.sleep(0.02)
    job.stop()
    assert finished(job).fault == "Stopped at: Decoding."
    assert job.result == {"x": 1}


def test_a_late_job_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, "import time; time.sleep(60)")
    job = finished(runner.start("measure", {}, 0.2))
    assert job.fault is not None
    assert "took longer than 0 s" in job.fault


def test_a_job_that_nobody_watches_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """The browser was closed: its page asks no more."""
    stand_in(monkeypatch, "import time; time.sleep(60)")
    monkeypatch.setattr(runner, "ABANDONED_AFTER", 0.3)
    job = runner.start("measure", {}, 60)
    assert job.wait(10)
    assert job.fault is not None
    assert job.fault.startswith("Nobody watched the run any more")


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        ("import os; os.kill(os.getpid(), 9)", "most likely for memory, at: Starting."),
        ("import os; os.abort()", "ended unexpectedly"),
        ("raise SystemExit(3)", "ended unexpectedly (code 3)"),
    ],
)
def test_a_process_that_dies_is_explained(monkeypatch: pytest.MonkeyPatch, script: str, sentence: str) -> None:
    stand_in(monkeypatch, script)
    job = finished(runner.start("measure", {}, 10))
    assert job.fault is not None
    assert sentence in job.fault


def really(kind: str, payload: dict[str, Any]) -> Job:
    if not (find_spec("torch") and find_spec("transformers")):  # importing them here would take this process's memory
        pytest.skip("torch and transformers are not installed; requirements-live.txt has them")
    return finished(runner.start(kind, payload, 120), 150)


def own_memory() -> int:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) * 1024


def test_out_of_memory_ends_in_a_finding_and_leaves_this_process_alone() -> None:
    """16 MiB for a prefill of 32 × 1,024 tokens, whose cache alone takes 512 MiB."""
    before = own_memory()
    settings = {"family": "gqa", "batch": 32, "prompt_tokens": 1024, "new_tokens": 8, "memory_limit": 2**24}
    job = really("measure", {"settings": settings})
    assert job.fault is None
    assert job.result is not None
    finding = job.result["runs"][0]["finding"]
    assert finding["kind"] == "out_of_memory"
    assert finding["message"] == "Out of memory in the prefill of 1,024 tokens within the 16 MiB that were allowed."
    assert own_memory() - before < 2**26


def test_a_dry_run_of_an_unknown_type_is_one_sentence() -> None:
    config = {"model_type": "no_such", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    config |= {"num_key_value_heads": 2, "intermediate_size": 128, "vocab_size": 1000}
    job = really("dry_run", {"config": config, "batch": 1, "tokens": 8})
    assert job.result is None
    assert job.fault is not None
    assert "no_such" in job.fault


def test_without_torch_the_worker_says_what_is_missing() -> None:
    script = "import sys; sys.modules['torch'] = None; from live.worker import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=json.dumps({"job": "measure", "settings": {}}) + "\n",
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=60,
        check=False,
    )
    assert "Running here needs torch and transformers" in json.loads(done.stdout)["fault"]
