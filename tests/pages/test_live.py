"""Live through Streamlit's own test runner, with torch and without."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Widget

from components import live_controls
from live import operator, runner
from live.receipts import read_receipt, recorded_receipts, write_receipt

ROOT = Path(__file__).parents[2]
METRICS = ROOT / "tests" / "live" / "metrics"
GROWTH, TIMES = 0, 1  # places of the two charts


@pytest.fixture(autouse=True)
def _no_settings_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(operator, "FILE", tmp_path / "kv_atlas.toml")
    yield
    for job in runner._running:
        job.kill("Test over")
        job.wait(10)


def ran(step: AppTest | Widget) -> AppTest:
    app = step.run()
    assert [error.message for error in app.exception] == []
    return app


def opened(source: str = "recorded") -> AppTest:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    ran(app)
    ran(app.switch_page("pages/live.py"))
    if source != "recorded":
        ran(app.selectbox(key="live_source").set_value(source))
    return app


def headline(app: AppTest) -> str:
    return app.title[0].value


def said(app: AppTest) -> str:
    return "\n".join([element.value for kind in (app.caption, app.markdown) for element in kind])


def figures(app: AppTest) -> dict[str, str]:
    return {metric.label: metric.value for metric in app.metric}


def chart(app: AppTest, place: int) -> dict[str, Any]:
    spec: dict[str, Any] = json.loads(app.get("plotly_chart")[place].proto.spec)
    return spec


def traces(app: AppTest, place: int) -> dict[str, dict[str, Any]]:
    return {trace["name"]: trace for trace in chart(app, place)["data"]}


def tables(app: AppTest) -> str:
    return "\n".join(each.proto.body for each in app.get("html"))


def finished(app: AppTest, seconds: float = 120) -> AppTest:
    """Look again until the job has ended, as the browser does every second."""
    end = time.monotonic() + seconds
    while "live_job" in app.session_state and time.monotonic() < end:
        time.sleep(0.3)
        ran(app)
    assert "live_job" not in app.session_state
    return app


def without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_controls, "find_spec", lambda name: None)


def needs_torch() -> None:
    if not live_controls.can_run():
        pytest.skip("torch and transformers are not installed; requirements-live.txt has them")


# --- recorded runs, with requirements.txt only ---


def test_on_arrival_a_recorded_run_is_played_back() -> None:
    app = opened()
    receipt = next(iter(recorded_receipts().values()))
    run = receipt.runs[0]
    assert headline(app).endswith(
        f"Measured equals predicted at every one of {len(run.steps.tokens):,} steps: {run.steps.cache[-1]:,} bytes"
    )
    assert receipt.device.name in said(app)
    assert figures(app)["Predicted"] == figures(app)["Measured in tensors"]
    spec = chart(app, GROWTH)
    assert len(spec["frames"]) > 10
    assert {"Predicted", "Measured", "Measured − predicted"} <= set(traces(app, GROWTH))
    assert any("<b>0 B</b> at every step" in note["text"] for note in spec["layout"]["annotations"])


def test_every_recorded_run_opens() -> None:
    app = opened()
    for name in app.selectbox(key="live_run").options:
        ran(app.selectbox(key="live_run").set_value(name))
        assert "Measured equals predicted at every one of" in headline(app)


def test_recomputation_stands_beside_the_cache_and_padding_below() -> None:
    app = opened()
    assert {"With the cache", "Without the cache"} <= set(traces(app, TIMES))
    assert "recomputing every token makes the whole answer O(N²)" in said(app)
    assert "padded to the longest, keeps" in said(app)
    assert "Padded to the longest" in tables(app)


def test_two_runs_are_compared() -> None:
    app = opened()
    other = app.selectbox(key="live_other").options[2]
    ran(app.selectbox(key="live_other").set_value(other))
    assert "Measured per token" in tables(app)
    assert other.partition(" · ")[0] in tables(app)


def test_a_run_file_is_loaded_and_shown_first() -> None:
    receipt = next(iter(recorded_receipts().values())).model_copy(update={"recorded": "1 January 2027"})
    app = opened()
    ran(app.file_uploader(key="live_file").upload("run.json", write_receipt(receipt).encode(), "application/json"))
    ran(app)
    assert "recorded 1 January 2027" in said(app)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"[" * 10_000, b'{"format": "kv-atlas-live-1"}'])
def test_a_file_that_is_no_receipt_is_one_sentence_and_the_page_stays(content: bytes) -> None:
    app = opened()
    ran(app.file_uploader(key="live_file").upload("run.json", content, "application/json"))
    assert "This is not a receipt of a live run" in said(app)
    assert "Measured equals predicted" in headline(app)


def test_a_receipt_whose_config_cannot_be_read_says_so() -> None:
    data = json.loads(write_receipt(next(iter(recorded_receipts().values()))))
    data["runs"] = data["runs"][:1]
    data["runs"][0]["config"] = {"model_type": "llama", "hidden_size": "many"}
    app = opened()
    text = write_receipt(read_receipt(json.dumps(data)))
    ran(app.file_uploader(key="live_file").upload("run.json", text.encode(), "application/json"))
    ran(app)
    assert headline(app) == "This run has no prediction"


@pytest.mark.parametrize("source", ["run", "dry"])
def test_without_torch_the_page_says_what_it_would_show_and_how_to_have_it(
    source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_torch(monkeypatch)
    app = opened()
    assert "This host has neither, so the page plays recorded runs." in said(app)
    ran(app.selectbox(key="live_source").set_value(source))
    assert headline(app) == "Measuring needs torch on your own machine"
    assert "laid over the prediction" in said(app)
    assert "requirements-live.txt" in app.code[0].value


def test_the_operator_can_turn_runs_off(tmp_path: Path) -> None:
    (tmp_path / "kv_atlas.toml").write_text("[live]\nrun = false\n")
    app = opened("run")
    assert "The operator of this app has turned runs off." in said(app)


def test_nothing_imports_torch() -> None:
    """In a process of its own: the page and all it imports, drawn for every source."""
    script = """
import sys
sys.modules["torch"] = sys.modules["transformers"] = None
from streamlit.testing.v1 import AppTest
app = AppTest.from_file("app.py", default_timeout=60).run()
app.switch_page("pages/live.py").run()
for source in ("run", "dry", "server", "recorded"):
    app.selectbox(key="live_source").set_value(source).run()
    assert not app.exception, app.exception
assert sys.modules["torch"] is None
print(app.title[0].value)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, timeout=120, check=False
    )
    assert "Measured equals predicted" in done.stdout, done.stderr[-2000:]


# --- a run here ---


def small(app: AppTest, family: str = "gqa", **more: int) -> AppTest:
    app.selectbox(key="live_family").set_value(family)
    for name, value in ({"prompt_tokens": 24, "new_tokens": 6, "batch": 1} | more).items():
        app.number_input(key=f"live_{name}").set_value(value)
    return ran(app)


def test_a_run_is_measured_shown_and_can_be_taken_along() -> None:
    needs_torch()
    app = small(opened("run"))
    assert "Needs 0.04 GiB of weights" in said(app)
    ran(app.button(key="live_start").click())
    assert headline(app) == "Measuring"
    finished(app)
    # 30 tokens of 4 layers, key and value of 8 heads of 128 in bfloat16
    assert headline(app).endswith(
        f"Measured equals predicted at every one of 7 steps: {30 * 4 * 2 * 8 * 128 * 2:,} bytes"
    )
    assert "Measured on a CPU: the tensors' bytes are exact there" in said(app)
    ran(app.selectbox(key="live_source").set_value("recorded"))
    assert "1 × 30" in str(app.selectbox(key="live_run").value)


def test_a_run_out_of_memory_is_a_finding_and_the_page_lives() -> None:
    needs_torch()
    app = small(opened("run"), prompt_tokens=1024, batch=32)
    app.number_input(key="live_memory").set_value(16)
    ran(app.button(key="live_start").click())
    finished(app)
    assert "Out of memory in the prefill of 1,024 tokens" in headline(app)


def test_a_second_visitor_is_told_to_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    needs_torch()
    first = small(opened("run"), new_tokens=2000)
    ran(first.button(key="live_start").click())
    second = small(opened("run"))
    ran(second.button(key="live_start").click())
    assert "A run is going on this machine" in said(second)
    ran(first.button(key="live_stop").click())
    finished(first)
    assert "topped" in said(first) + headline(first)  # before its first token or after some


def test_a_checkpoint_that_cannot_be_had_is_one_sentence() -> None:
    needs_torch()
    app = opened("run")
    ran(app.selectbox(key="live_family").set_value("hub"))
    ran(app.text_input(key="live_model").set_value("not an id"))
    ran(app.button(key="live_start").click())
    finished(app)
    assert headline(app).endswith("The run did not finish")
    assert '"not an id" is not a Hugging Face id' in said(app)


def test_a_full_size_model_is_built_beside_its_prediction() -> None:
    needs_torch()
    app = opened("dry")
    ran(app.selectbox(key="live_dry_model").set_value("deepseek-ai/DeepSeek-V3"))
    app.number_input(key="live_dry_tokens").set_value(1000)
    ran(app.button(key="live_dry_start").click())
    finished(app)
    assert headline(app).endswith("671,026,404,352 parameters, 70,272,000 bytes of cache")
    assert "3–60" in tables(app)


def test_an_own_config_is_needed_before_it_is_built() -> None:
    needs_torch()
    app = opened("dry")
    ran(app.selectbox(key="live_dry_model").set_value("config.json"))
    assert headline(app) == "There is no config to build"


# --- a server ---


def test_pasted_metrics_are_laid_beside_the_scenario_even_without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    without_torch(monkeypatch)
    app = opened("server")
    assert headline(app) == "Paste a metrics page of vLLM, SGLang or llama.cpp"
    assert "off here" in said(app)
    ran(app.text_area(key="live_metrics").set_value((METRICS / "vllm-0.11.txt").read_text()))
    assert headline(app).endswith("56 requests use 52% of the cache, none wait")
    assert "28,881" in tables(app)
    assert "Blocks in the pool" in tables(app)


@pytest.mark.parametrize("name", ["vllm-0.8", "sglang-0.4", "sglang-0.5", "llama_cpp-b4600", "llama_cpp-b7000"])
def test_each_engines_page_is_answered(name: str) -> None:
    app = opened("server")
    ran(app.text_area(key="live_metrics").set_value((METRICS / f"{name}.txt").read_text()))
    assert "Running requests" in tables(app)


def test_pasted_nonsense_is_one_sentence() -> None:
    app = opened("server")
    ran(app.text_area(key="live_metrics").set_value("hello"))
    assert headline(app) == "These metrics cannot be read"


def test_a_vanished_server_is_told_and_asked_again(tmp_path: Path) -> None:
    (tmp_path / "kv_atlas.toml").write_text('[live]\nservers = ["http://127.0.0.1:9/metrics"]\n')
    app = opened("server")
    assert headline(app).endswith("The server does not answer")
    assert "127.0.0.1:9 cannot be reached" in said(app)
    assert "asked again every 2 s" in said(app)
