import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sizing.command_line import main
from sizing.engines.calibration import VLLM

LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
REPORT_FIELDS = {
    "scenario",
    "per_gpu",
    "cluster",
    "cache",
    "capacity",
    "needed_kv_bytes_per_gpu",
    "log",
    "verdict",
    "speed",
    "grades",
    "notes",
    "differences",
    "mixed",
    "host",
    "media",
}


def run(arguments: list[str], text: str = "") -> tuple[int, list[Any], str]:
    out, errors = io.StringIO(), io.StringIO()
    code = main(arguments, io.StringIO(text), out, errors)
    printed = out.getvalue()
    if arguments == ["--jsonl"]:
        return code, [json.loads(line) for line in printed.splitlines()], errors.getvalue()
    return code, [json.loads(printed)] if printed.startswith("{") else [], errors.getvalue()


def test_one_report_from_flags() -> None:
    code, (report,), _ = run(["--model", LLAMA, "--accelerator", "h100-sxm5-80gb", "--batch-size", "16"])
    assert code == 0
    assert set(report) == REPORT_FIELDS
    assert report["scenario"]["context_length"] == 8192
    assert report["verdict"] == {
        "state": "fits",
        "fits": True,
        "short_by_bytes": 0,
        "short_term": None,
        "error_bytes": round(VLLM.error_share * report["per_gpu"]["total_bytes"]),
        "stands": True,
        "starts_with": None,
        "remedies": [],
    }


def test_the_terms_and_what_is_free_and_outside_make_the_total() -> None:
    _, (report,), _ = run(["--model", LLAMA, "--accelerator", "h100-sxm5-80gb", "--tensor-parallel", "2"])
    for footprint in (report["per_gpu"], report["cluster"]):
        terms = [size for name, size in footprint.items() if name not in ("total_bytes", "available_kv_bytes")]
        assert sum(terms) == footprint["total_bytes"]


def test_without_an_accelerator_what_needs_it_is_null() -> None:
    code, (report,), _ = run(["--model", LLAMA])
    assert code == 0
    assert report["verdict"]["state"] is None
    assert report["capacity"]["max_batch_at_context"] is None
    assert report["per_gpu"]["free_bytes"] is None
    assert report["scenario"]["engine"] == "vllm"


def test_one_line_out_for_each_line_in() -> None:
    lines = [
        json.dumps({"model": LLAMA}),
        "",
        "not json",
        json.dumps({"model": "nobody/nothing"}),
        json.dumps([1, 2]),
        json.dumps({"model": LLAMA, "batch_size": -1}),
        json.dumps({"model": LLAMA, "colour": "red"}),
        '{"model": "x", "batch_size": NaN}',
        json.dumps({"model": LLAMA, "batch_size": 2}),
    ]
    code, results, errors = run(["--jsonl"], "\n".join(lines))
    assert code == 1
    assert errors == ""
    assert ["error" in result for result in results] == [False, True, True, True, True, True, True, False]
    assert [result["error"]["field"] for result in results[1:7]] == ["", "model", "", "batch_size", "colour", ""]


def test_all_good_lines_give_zero() -> None:
    assert run(["--jsonl"], json.dumps({"model": LLAMA}))[0] == 0


@pytest.mark.parametrize(
    "arguments",
    [[], ["--colour", "red"], ["llama"], ["--batch-size", "3"], ["--model"], ["--model", "a", "--model", "b"]],
)
def test_unusable_arguments_give_two_and_the_usage(arguments: list[str]) -> None:
    code, results, errors = run(arguments)
    assert code == 2
    assert results == []
    assert "usage:" in errors


def test_objects_are_read_from_flags() -> None:
    """8 heads × 128 × (1 + 34/32) × 32 layers a token."""
    code, (report,), _ = run(["--model", LLAMA, "--engine", "minimum", "--kv-dtype", '{"k": "fp8", "v": "q8_0"}'])
    assert code == 0
    assert report["cache"]["bytes_per_token"] == 32 * (8 * 128 + 8 * 128 // 32 * 34)


def test_a_config_file_is_read_whatever_its_name(tmp_path: Path) -> None:
    config = {
        "model_type": "llama",
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "intermediate_size": 128,
        "vocab_size": 1000,
        "max_position_embeddings": 512,
    }
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(config))
    code, (report,), _ = run(["--model", str(path)])
    assert code == 0
    assert report["cache"]["bytes_per_token"] == 2 * 2 * 2 * 16 * 2
    assert report["scenario"]["context_length"] == 512


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"model_type": "llama", "num_hidden_layers": 1e9}'])
def test_a_damaged_file_is_a_sentence(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.json"
    path.write_text(text)
    code, (result,), _ = run(["--model", str(path)])
    assert code == 1
    assert result["error"]["field"] == "model"
    assert result["error"]["message"].endswith(".")


def test_a_file_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    code, (result,), _ = run(["--model", str(tmp_path / "none.json")])
    assert code == 1
    assert "none.json" in result["error"]["message"]


def piped(data: bytes, *arguments: str, **environment: str) -> tuple[int, list[Any], bytes]:
    done = subprocess.run(
        [sys.executable, "-m", "sizing", *arguments],
        input=data,
        capture_output=True,
        timeout=60,
        env={**os.environ, **environment},
        check=False,
    )
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr


@pytest.mark.parametrize("environment", [{}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}])
def test_bytes_that_are_no_text_are_one_bad_line(environment: dict[str, str]) -> None:
    good = json.dumps({"model": LLAMA}).encode()
    lines = [b"\xef\xbb\xbf" + good, b'{"model": "\xff"}\r', b"\x80", '{"model": "café"}'.encode(), good + b"\r"]
    code, results, errors = piped(b"\n".join(lines), "--jsonl", **environment)
    assert code == 1
    assert errors == b""
    assert ["error" in result for result in results] == [False, True, True, True, False]
    assert results[1] == {"error": {"field": "", "message": "The line is not text in UTF-8."}}


def test_a_line_of_any_length_is_one_line_out() -> None:
    """Longer than is kept, exactly as long, blank beyond what is kept, and deeply nested."""
    lines = ["x" * 3_000_000, "y" * 999_999, " " * 2_500_000, "[" * 100_000, json.dumps({"model": LLAMA})]
    code, results, _ = run(["--jsonl"], "\n".join(lines))
    assert code == 1
    assert ["error" in result for result in results] == [True, True, True, False]


def test_a_reader_that_stops_early_sees_no_traceback() -> None:
    line = json.dumps({"model": LLAMA})
    shell = f"yes '{line}' | head -300 | '{sys.executable}' -m sizing --jsonl | head -1"
    done = subprocess.run(["sh", "-c", shell], capture_output=True, timeout=60, check=False)
    assert done.stderr == b""
    assert len(done.stdout.splitlines()) == 1


def test_an_empty_value_is_a_value() -> None:
    code, (result,), _ = run(["--model", LLAMA, "--weights=", "--batch-size", "2"])
    assert code == 1
    assert result["error"]["field"] == "weights"
