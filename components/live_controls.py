"""The run settings in Live's sidebar: where measurements come from, and what a run is asked to do."""

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import streamlit as st

from components import choices
from components.live_words import DTYPES
from live.families import FAMILIES
from live.layers import MOST_BATCH, MOST_TOKENS
from live.operator import Allowed
from live.receipts import LONGEST_TEXT, Receipt, ReceiptError, Run, Settings, read_receipt, recorded_receipts

SOURCES = {
    "recorded": "Recorded run",
    "run": "Run here",
    "dry": "Full-size dry run",
    "server": "Running server",
}
HUB = "hub"
LOADED = "live_loaded"
MEASURED = "live_measured"
NEEDED = ("torch", "transformers")
INSTALL = "python3 -m venv .venv && .venv/bin/pip install -r requirements-live.txt && .venv/bin/streamlit run app.py"
MISSING = "Running here needs torch and transformers. This host has neither, so the page plays recorded runs."


@dataclass(frozen=True)
class Chosen:
    """One run of a receipt, with the name it has in lists."""

    name: str
    receipt: Receipt
    run: Run


def can_run() -> bool:
    """Whether torch and transformers are installed; nothing is imported."""
    return all(find_spec(name) is not None for name in NEEDED)


def source() -> str:
    return str(st.selectbox("Source", list(SOURCES), key="live_source", format_func=SOURCES.__getitem__))


def run_name(run: Run) -> str:
    """What was run, short."""
    settings = run.settings
    model = FAMILIES[settings.family].label if settings.family in FAMILIES else settings.model or "A model"
    static = ", static" if settings.cache == "static" else ""
    return f"{model}, {settings.batch} × {settings.max_tokens:,}{static}"


@st.cache_data(show_spinner=False)
def _recorded() -> dict[str, Receipt]:
    return recorded_receipts()


def known_runs() -> dict[str, Chosen]:
    """Every run at hand by its name: measured in this visit, loaded, recorded."""
    own: list[Receipt] = [st.session_state[key] for key in (MEASURED, LOADED) if key in st.session_state]
    chosen: dict[str, Chosen] = {}
    for receipt in [*own, *_recorded().values()]:
        for run in receipt.runs:
            name = f"{run_name(run)} · {receipt.device.name}"
            while name in chosen:
                name += " "
            chosen[name] = Chosen(name, receipt, run)
    return chosen


def load_file() -> None:
    """A receipt from the visitor's disk joins the list."""
    file = st.file_uploader("Load a run file", type="json", key="live_file")
    if file is None:
        st.session_state.pop(LOADED, None)
        return
    try:
        text = file.getvalue()[: LONGEST_TEXT + 1].decode("utf-8", errors="replace")
        st.session_state[LOADED] = read_receipt(text)
    except ReceiptError as error:
        st.session_state.pop(LOADED, None)
        st.markdown(f":small[:red[:material/error: {error}]]")


def pick(label: str, runs: dict[str, Chosen], key: str) -> Chosen | None:
    name = st.selectbox(label, list(runs), key=key, index=0 if runs else None)
    return runs.get(name) if name else None


def run_settings(allowed: Allowed) -> Settings:
    """The form of a run."""
    families = [*FAMILIES, *([HUB] if allowed.hub else [])]
    family = st.selectbox("Model", families, key="live_family", format_func=_family_label)
    model = ""
    if family == HUB:
        model = st.text_input("Hub id", key="live_model", placeholder="HuggingFaceTB/SmolLM2-135M-Instruct").strip()
    left, right = st.columns(2, gap="small")
    with left:
        batch = _whole("Requests", "batch", 2, 1024)
        new = _whole("New tokens", "new_tokens", 192, 8192, least=0)
    with right:
        prompt = _whole("Prompt tokens", "prompt_tokens", 384, 131_072)
        dtype = st.selectbox("Dtype", list(DTYPES), key="live_dtype", format_func=DTYPES.__getitem__)
    cache = st.segmented_control(
        "Cache", ["dynamic", "static"], default="dynamic", key="live_cache", format_func=str.capitalize, required=True
    )
    recompute = st.checkbox("Also without the cache", value=True, key="live_recompute")
    padding = st.checkbox("Also a padded batch", value=True, key="live_padding")
    more = _more()
    return Settings(
        family=None if family == HUB else family,
        model=model,
        batch=batch,
        prompt_tokens=prompt,
        new_tokens=new,
        dtype=dtype or "bf16",
        cache=cache or "dynamic",
        recompute=recompute,
        padding=padding,
        **more,
    )


def _more() -> dict[str, Any]:
    with st.expander("Device and limits", icon=":material/tune:"):
        device = st.selectbox("Device", ["auto", "cuda", "mps", "cpu"], key="live_device", format_func=_device_label)
        mebibytes = st.number_input(
            "Memory beside the weights, MiB",
            min_value=16,
            max_value=2**24,
            value=None,
            step=1,
            key="live_memory",
            placeholder="all that is free",
            help="A small limit shows where a run would end for lack of memory.",
        )
        seconds = _whole("Time limit, s", "seconds_limit", 300, 3600)
    return {
        "device": device,
        "memory_limit": None if mebibytes is None else int(mebibytes) * 2**20,
        "seconds_limit": float(seconds),
    }


def _whole(label: str, name: str, value: int, most: int, least: int = 1) -> int:
    return int(st.number_input(label, min_value=least, max_value=most, value=value, step=1, key=f"live_{name}"))


def _family_label(name: str) -> str:
    return "A checkpoint from the Hub" if name == HUB else FAMILIES[name].label


def _device_label(name: str) -> str:
    return "CUDA, else MPS, else CPU" if name == "auto" else name.upper()


def dry_settings(default: str) -> tuple[str, int, int]:
    """(model, requests, tokens) of a dry run."""
    names = list(choices.model_names())
    model = st.selectbox(
        "Model",
        names,
        index=names.index(default) if default in names else 1,
        key="live_dry_model",
        format_func=choices.model_label,
    )
    batch = _whole("Requests", "dry_batch", 1, MOST_BATCH)
    tokens = _whole("Tokens per request", "dry_tokens", 8192, MOST_TOKENS)
    return str(model), batch, tokens
