"""Time Plan in a browser against an empty page with as many figures: `python -m scripts.benchmark_pages`.

Two servers run side by side: the app, and a page of one slider and two Plotly figures of Plan's kinds. For both it
prints how long a fresh load takes until the page settles, and how long one step of a slider takes until the last
change on the screen. The aim is at most 1.5 times the empty page.
"""

import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from urllib.request import urlopen

from playwright.sync_api import Browser, Page, sync_playwright

APP = Path(__file__).parents[1] / "app.py"
EMPTY_PAGE = """
import plotly.graph_objects as go
import streamlit as st

st.set_page_config(layout="wide")
tokens = st.sidebar.select_slider("Tokens", [2**n for n in range(9, 21)], 8192)
st.title(f"{tokens} tokens")
segments = [{"type": "bar", "orientation": "h", "y": [0], "x": [part * tokens]} for part in range(1, 7)]
st.plotly_chart(go.Figure({"data": segments, "layout": {"height": 118, "barmode": "stack"}}, skip_invalid=True))
layers = {"type": "bar", "x": list(range(32)), "y": [1] * 32}
st.plotly_chart(go.Figure({"data": [layers], "layout": {"height": 32}}, skip_invalid=True))
"""
WATCH = """
window.lastChange = performance.now();
new MutationObserver(() => { window.lastChange = performance.now(); })
    .observe(document.body, {subtree: true, childList: true, attributes: true, characterData: true});
"""
QUIET_MS = 600
MOVES = 9
LOADS = 3
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]


@contextmanager
def server(script: Path) -> Iterator[str]:
    """A Streamlit server for `script` on a free port; its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", str(script), "--server.headless=true"]
    running = subprocess.Popen(
        [*command, f"--server.port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=script.parent
    )
    try:
        yield _ready(f"http://127.0.0.1:{port}")
    finally:
        running.terminate()
        running.wait()


def _ready(address: str) -> str:
    for _ in range(100):
        try:
            urlopen(f"{address}/_stcore/health", timeout=1).close()
        except OSError:
            time.sleep(0.2)
        else:
            return address
    raise TimeoutError(f"{address} does not answer")


def settled(page: Page, start: float) -> float:
    """Milliseconds from `start` (the page's clock) to the last change before the page is quiet."""
    while page.evaluate("performance.now() - window.lastChange") < QUIET_MS:
        page.wait_for_timeout(50)
    last: float = page.evaluate("window.lastChange")
    return last - start


def load(browser: Browser, address: str) -> float:
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.add_init_script(f"document.addEventListener('DOMContentLoaded', () => {{ {WATCH} }});")
    page.goto(address)
    page.wait_for_selector(".js-plotly-plot")
    milliseconds = settled(page, 0)
    page.close()
    return milliseconds


def slide(browser: Browser, address: str) -> list[float]:
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(address)
    page.wait_for_selector(".js-plotly-plot")
    page.evaluate(WATCH)
    settled(page, 0)
    slider = page.get_by_role("slider").first
    slider.focus()
    times = []
    for move in range(MOVES):
        start: float = page.evaluate("performance.now()")
        page.keyboard.press("ArrowRight" if move % 2 else "ArrowLeft")
        page.wait_for_timeout(100)
        times.append(settled(page, start))
    page.close()
    return times


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        empty = Path(folder) / "empty.py"
        empty.write_text(EMPTY_PAGE)
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
        with server(APP) as app, server(empty) as floor:
            for address in (app, floor):
                load(browser, address)
            loads = [(load(browser, app), load(browser, floor)) for _ in range(LOADS)]
            moves = slide(browser, app), slide(browser, floor)
        browser.close()
    show("page start, warm server", median(each[0] for each in loads), median(each[1] for each in loads))
    show("one slider step to the last change", median(moves[0]), median(moves[1]))


def show(name: str, measured: float, floor: float) -> None:
    print(f"{name:<40}{measured:>8.0f} ms{floor:>8.0f} ms{measured / floor:>7.2f}×   aim ≤ 1.5×")


if __name__ == "__main__":
    main()
