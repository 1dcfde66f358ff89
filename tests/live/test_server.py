"""A server's metrics: the formats of three engines at two releases each, and every way a server can misbehave.

metrics/ holds pages in the engines' own formats: names, help texts and labels from vLLM's v1/metrics/loggers.py,
SGLang's metrics collector and llama.cpp's server; the values are made up.
"""

import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from live import server_fetch
from live.operator import Allowed, endpoint, read_allowed
from live.server_fetch import fetch_metrics
from live.server_metrics import MetricsError, ServerReading, read_metrics

PAGES = Path(__file__).parent / "metrics"
LLAMA, QWEN2, QWEN3 = "meta-llama/Llama-3.1-8B-Instruct", "Qwen/Qwen2.5-7B-Instruct", "Qwen/Qwen3-8B"
EXPECTED = {
    "vllm-0.8": ServerReading("vllm", LLAMA, 1, 12, 3, 2, 0.8731, num_blocks=27757, block_size=16),
    "vllm-0.11": ServerReading(
        "vllm", LLAMA, 2, 56, 0, 1, 0.5212, pool_tokens=462_096, num_blocks=28881, block_size=16
    ),
    "sglang-0.4": ServerReading("sglang", QWEN2, 1, 7, 2826, None, 0.28, used_tokens=123_859),
    "sglang-0.5": ServerReading("sglang", QWEN3, 1, 48, 0, 5, 0.64, used_tokens=301_500, pool_tokens=471_258),
    "llama_cpp-b4600": ServerReading("llama.cpp", None, 1, 1, 0, None, 0.0378418, used_tokens=1240),
    "llama_cpp-b7000": ServerReading("llama.cpp", None, 1, 4, 46, None, None, longest_tokens=3618),
}


class FakeServer(BaseHTTPRequestHandler):
    """/<file name> is a page; other paths misbehave."""

    def do_GET(self) -> None:
        page = PAGES / f"{self.path[1:]}.txt"
        if page.is_file():
            self._answer(page.read_bytes())
        elif self.path == "/elsewhere":
            self.send_response(302)
            self.send_header("Location", "/vllm-0.8")
            self.end_headers()
        elif self.path == "/huge":
            self._pour(b"vllm:num_requests_running 1\n" * 4000, 1000, 0)
        elif self.path == "/slow":
            self._pour(b"vllm:", 1000, 0.05)
        elif self.path == "/cut":
            self.send_response(200)
            self.send_header("Content-Length", "5000")
            self.end_headers()
            self.wfile.write(b"vllm:num_requests_running 1\n")
        else:
            self.send_error(404)

    def _answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _pour(self, piece: bytes, times: int, wait: float) -> None:
        self.send_response(200)
        self.end_headers()
        try:
            for _ in range(times):
                self.wfile.write(piece)
                self.wfile.flush()
                time.sleep(wait)
        except OSError:
            return

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        return


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    fake = ThreadingHTTPServer(("127.0.0.1", 0), FakeServer)
    threading.Thread(target=fake.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{fake.server_port}"
    fake.shutdown()


@pytest.mark.parametrize("name", list(EXPECTED))
def test_each_release_is_read_from_a_server(server: str, name: str) -> None:
    url = f"{server}/{name}"
    assert read_metrics(fetch_metrics(url, [url])) == EXPECTED[name]


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("elsewhere", "answered 302; a metrics page answers 200. Redirects are not followed."),
        ("nothing", "answered 404; a metrics page answers 200. llama.cpp needs --metrics"),
        ("huge", "sends more than 4 MB"),
    ],
)
def test_what_is_not_a_metrics_page_is_one_sentence(server: str, path: str, sentence: str) -> None:
    with pytest.raises(MetricsError, match=sentence):
        fetch_metrics(f"{server}/{path}", [f"{server}/{path}"])


def test_a_page_that_trickles_is_given_up(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_fetch, "SECONDS", 0.3)
    start = time.monotonic()
    with pytest.raises(MetricsError, match="did not answer within"):
        fetch_metrics(f"{server}/slow", [f"{server}/slow"])
    assert time.monotonic() - start < 5


def test_a_page_that_is_cut_off_gives_what_arrived(server: str) -> None:
    assert read_metrics(fetch_metrics(f"{server}/cut", [f"{server}/cut"])).running == 1


def test_a_vanished_server_is_one_sentence() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/metrics"
    with pytest.raises(MetricsError, match="cannot be reached"):
        fetch_metrics(url, [url])


def test_only_servers_that_the_operator_allows_are_asked(server: str) -> None:
    with pytest.raises(MetricsError, match="not among those"):
        fetch_metrics(f"{server}/vllm-0.8", [f"{server}/metrics"])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "No metrics of vLLM"),
        ("<html>" * 1000, "No metrics of vLLM"),
        ("node_cpu_seconds_total 3\n", "No metrics of vLLM"),
        ("vllm:num_requests_running{ 5\n", "is not a line of metrics"),
        ("vllm:num_requests_running many\n", "is not a line of metrics"),
        ("vllm:prompt_tokens_total 5\n", "none about requests or the cache"),
        ("vllm:x 1\n" * 20_001, "more than 20,000 lines"),
        ("\x00" * 4_000_001, "longer than 4 MB"),
    ],
)
def test_nonsense_is_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(MetricsError, match=sentence):
        read_metrics(text)


def test_values_that_are_not_numbers_are_unknown() -> None:
    reading = read_metrics("llamacpp:requests_processing 2\nllamacpp:kv_cache_usage_ratio nan\n")
    assert (reading.running, reading.usage) == (2, None)


def test_underscored_names_of_sglang_are_the_same() -> None:
    text = (PAGES / "sglang-0.5.txt").read_text()
    assert read_metrics(text.replace("sglang:", "sglang_")) == EXPECTED["sglang-0.5"]


def allowed_by(tmp_path: Path, text: str) -> Allowed:
    path = tmp_path / "kv_atlas.toml"
    path.write_text(text)
    return read_allowed(path)


def test_without_a_settings_file_no_server_is_watched(tmp_path: Path) -> None:
    assert read_allowed(tmp_path / "kv_atlas.toml") == Allowed(run=True, hub=True, servers=())


def test_the_operator_turns_things_on_and_off(tmp_path: Path) -> None:
    text = '[live]\nrun = false\nhub = false\nservers = ["http://localhost:8000", "https://gpu.example/metrics/"]'
    servers = ("http://localhost:8000/metrics", "https://gpu.example/metrics")
    assert allowed_by(tmp_path, text) == Allowed(run=False, hub=False, servers=servers)


@pytest.mark.parametrize(
    ("text", "complaint", "without"),
    [
        ('[live]\nservers = ["ftp://x", "file:///etc/passwd", "http://a:b@host"]', "is not a server", Allowed()),
        ('[live]\nservers = "http://localhost:99999/metrics"', "is not a server", Allowed()),
        ("[live]\nserver = 1", "server is not a setting", Allowed()),
        ('[live]\nrun = "yes"', "run must be true or false", Allowed(run=False)),
        ("live = 3", "live must be a table", Allowed(run=False, hub=False)),
        ("[live", "cannot be read", Allowed(run=False, hub=False)),
    ],
)
def test_what_the_file_says_wrongly_is_off_and_named(
    tmp_path: Path, text: str, complaint: str, without: Allowed
) -> None:
    allowed = allowed_by(tmp_path, text)
    assert complaint in " ".join(allowed.complaints)
    assert replace(allowed, complaints=()) == without


def test_an_endpoint_has_its_path() -> None:
    assert endpoint("http://127.0.0.1:30000") == "http://127.0.0.1:30000/metrics"
    assert endpoint("http://[::1]:8080/x/metrics") == "http://[::1]:8080/x/metrics"
