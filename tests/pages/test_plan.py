"""Plan through Streamlit's own test runner: the arrival, every control, and whatever an address may say."""

import json
import re
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest
from pandas import DataFrame
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Widget

from model_catalog.lookup import all_ids, entry_ids

ROOT = Path(__file__).parents[2]
CONFIG = {
    "model_type": "llama",
    "hidden_size": 1024,
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "intermediate_size": 2816,
    "vocab_size": 32000,
    "torch_dtype": "bfloat16",
}


def opened(**query: object) -> AppTest:
    """The page as a visitor with this address sees it; it must not have raised."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    for name, value in query.items():
        app.query_params[name.replace("__", ".")] = str(value)
    return ran(app)


def ran(step: AppTest | Widget) -> AppTest:
    """After one more run, set off by the whole page or by one of its controls."""
    app = step.run()
    assert [error.message for error in app.exception] == []
    return app


def headline(app: AppTest) -> str:
    return app.title[0].value


def said(app: AppTest) -> str:
    """What the reader sees."""
    shown = "\n".join([element.value for kind in (app.caption, app.markdown) for element in kind])
    return re.sub(r"\\(.)", r"\1", shown).replace("\u2060", "")  # without what keeps texts from being read as markup


def figures(app: AppTest) -> dict[str, str]:
    return {metric.label: metric.value for metric in app.metric}


def terms(app: AppTest) -> dict[str, list[str]]:
    """Cells of the Terms tab by term, the term's own left out."""
    (table,) = [each.proto.body for each in app.get("html") if ">Term<" in each.proto.body]
    rows = [[unescape(cell) for cell in re.findall("<td[^>]*>(.*?)</td>", row)] for row in table.split("<tr>")]
    return {row[0]: row[1:] for row in rows if row}


def gib(app: AppTest, term: str) -> float:
    return float(terms(app)[term][0])


def context(app: AppTest) -> DataFrame:
    return app.table[0].value


def query(app: AppTest, name: str) -> object:
    value = app.query_params[name]
    return value[0] if isinstance(value, list) else value


def test_it_answers_on_arrival_without_a_click() -> None:
    app = opened()
    assert ": 16 requests of 8,192 tokens " in headline(app)
    assert "meta-llama/Llama-3.1-8B-Instruct · BF16 weights" in said(app)
    assert "1 × H100 SXM5 80 GB" in said(app)
    assert figures(app)["One request"] == "1.00 GiB"
    assert terms(app)["KV cache"][:3] == ["16.00", "17.18", "exact"]
    assert gib(app, "Weights") == 14.99  # 16,060,522,496 bytes of tensors, and vLLM's rotary table of 32 MiB
    assert app.query_params == {}


def test_two_figures_and_no_more() -> None:
    app = opened()
    charts = app.get("plotly_chart")
    assert len(charts) == 2
    bar = json.loads(charts[0].proto.spec)
    assert [trace["name"] for trace in bar["data"]][:2] == ["Weights", "Activations"]


def test_the_course_example_with_both_units() -> None:
    app = opened(model="meta-llama/Meta-Llama-3-70B-Instruct", context_length=8192, batch_size=8, engine="minimum")
    app.session_state["details"] = "Formula"
    ran(app)
    shown = app.get("html")[-2].proto.body
    assert "21,474,836,480 B = 20.00 GiB = 21.47 GB" in shown
    for factor in (">80<", ">2<", ">8<", ">128<", ">8,192<"):
        assert factor in shown


def test_the_scenario_line_of_a_hybrid_on_two_gpus() -> None:
    app = opened(model="Qwen/Qwen3.5-27B", weights="fp8", tensor_parallel=2, context_length=32768, engine="minimum")
    assert headline(app).endswith("on each GPU")
    assert "Qwen/Qwen3.5-27B · FP8 weights · BF16 KV · 2 × H100 SXM5 80 GB · no engine · 32K tokens × 16" in said(app)
    assert terms(app)["Recurrent state"][0] == "1.15"
    assert terms(app)["Weights"][2] == "28.85"  # of both


CONTROLS = [
    ("model", "Qwen/Qwen3.5-27B", "model", "Qwen/Qwen3.5-27B"),
    ("weights", "awq-int4", "weights", "awq-int4"),
    ("kv_dtype", "fp8", "kv_dtype", "fp8"),
    ("accelerator", "rtx-4090", "accelerator", "rtx-4090"),
    ("engine", "transformers", "engine", "transformers"),
]


@pytest.mark.parametrize(("control", "value", "name", "written"), CONTROLS)
def test_each_choice_is_answered_and_in_the_address(control: str, value: str, name: str, written: str) -> None:
    app = opened(engine="minimum")
    before = (headline(app), said(app))
    ran(app.selectbox(key=f"form_{control}").set_value(value))
    assert query(app, name) == written
    assert (headline(app), said(app)) != before


def test_sliders() -> None:
    app = opened()
    ran(app.select_slider(key="form_context_length").set_value(32_768))
    ran(app.select_slider(key="form_batch_size").set_value(4))
    assert "4 requests of 32,768 tokens" in headline(app)
    assert (query(app, "context_length"), query(app, "batch_size")) == ("32768", "4")


def test_exact_numbers_stand_among_the_sliders_steps() -> None:
    app = opened(context_length=33_333, batch_size=17, tensor_parallel=4)
    assert app.select_slider(key="form_context_length").value == 33_333
    assert "17 requests of 33,333 tokens" in headline(app)


def settings(**query_: object) -> AppTest:
    app = opened(engine="minimum", **query_)
    app.session_state["settings"] = app.session_state["exact"] = True
    return ran(app)


SETTINGS = [
    ("context_length_exact", 12_345, "context_length", "12345"),
    ("batch_size_exact", 77, "batch_size", "77"),
    ("tensor_parallel_exact", 2, "tensor_parallel", "2"),
    ("pipeline_parallel", 2, "pipeline_parallel", "2"),
    ("data_parallel", 2, "data_parallel", "2"),
    ("memory_fraction", 0.5, "memory_fraction", "0.5"),
    ("max_model_len", 4096, "max_model_len", "4096"),
    ("shared_prefix_tokens", 1000, "shared_prefix_tokens", "1000"),
]


@pytest.mark.parametrize(("control", "value", "name", "written"), SETTINGS)
def test_each_setting_is_answered_and_in_the_address(control: str, value: float, name: str, written: str) -> None:
    app = settings()
    before = terms(app), said(app), context(app).to_csv()
    ran(app.number_input(key=f"form_{control}").set_value(value))
    assert query(app, name) == written
    assert (terms(app), said(app), context(app).to_csv()) != before


def test_memory_of_other_processes_comes_out_of_the_budget() -> None:
    app = settings()
    pool = figures(app)["KV pool"]
    ran(app.text_input(key="form_other_memory_bytes").set_value("20 GiB"))
    assert query(app, "other_memory_bytes") == str(20 * 2**30)
    assert figures(app)["KV pool"] != pool
    assert "Other processes" in app.get("html")[0].proto.body


def test_a_size_that_cannot_be_read_is_said_and_kept() -> None:
    app = settings()
    ran(app.text_input(key="form_other_memory_bytes").set_value("plenty"))
    assert '"plenty" is not a size. Write it like 24 GiB' in said(app)
    assert app.text_input(key="form_other_memory_bytes").value == "plenty"
    assert len(app.table) == 1  # the rest of the page stays


def test_keys_and_values_apart() -> None:
    app = opened(engine="minimum")
    ran(app.selectbox(key="form_kv_dtype").set_value("apart"))
    ran(app.selectbox(key="form_kv_dtype_k").set_value("q8_0"))
    assert (query(app, "kv_dtype.k"), query(app, "kv_dtype.v")) == ("q8_0", "auto")
    assert "Q8_0/BF16 KV" in said(app)


def test_state_formats_apart() -> None:
    app = settings(model="Qwen/Qwen3.5-27B")
    before = gib(app, "Recurrent state")
    ran(app.selectbox(key="form_state_dtype").set_value("apart"))
    ran(app.selectbox(key="form_state_dtype_recurrent").set_value("bf16"))
    assert query(app, "state_dtype.recurrent") == "bf16"
    assert gib(app, "Recurrent state") < before


def test_an_accelerator_of_ones_own() -> None:
    app = opened(engine="minimum")
    ran(app.selectbox(key="form_accelerator").set_value("own"))
    assert "no memory size is known" in headline(app)
    ran(app.text_input(key="form_accelerator_name").set_value("My card"))
    ran(app.text_input(key="form_total_memory_bytes").set_value("24 GiB"))
    assert "1 × My card" in said(app)
    assert gib(app, "Memory") == 24.0
    assert (query(app, "accelerator"), query(app, "total_memory_bytes")) == ("", str(24 * 2**30))
    again = opened(**{name: query(app, name) for name in app.query_params})
    assert "1 × My card" in said(again)
    assert headline(again) == headline(app)


def test_without_an_accelerator_it_says_so() -> None:
    app = opened(accelerator="", engine="minimum")
    assert headline(app) == "16 requests of 8,192 tokens need 31.0 GiB; no memory size is known"
    assert figures(app)["Max requests"] == "–"


def test_units() -> None:
    app = opened(units="GB", engine="minimum")
    assert figures(app)["One request"] == "1.07 GB"
    assert "Each, GB" in context(app).columns


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"batch_size": "many"}, "batch_size is 'many'. A whole number is needed. 16 is used instead."),
        ({"context_length": "-1"}, "It must be at least 1. 8192 is used instead."),
        ({"accelerator": "h1000"}, 'accelerator "h1000" is not in the catalog.'),
        ({"colour": "red"}, '"colour" in the link is not a setting of this page; it is left out.'),
        ({"units": "KB"}, 'units is "KB"; it can be GiB or GB.'),
        ({"config": "%%"}, "The config in the link is damaged"),
    ],
)
def test_what_an_address_says_wrongly_is_named_and_the_rest_kept(given: dict[str, str], sentence: str) -> None:
    app = opened(model="Qwen/Qwen3.5-27B", **given)
    assert sentence in said(app)
    assert "Qwen/Qwen3.5-27B ·" in said(app)
    assert "requests of" in headline(app)


@pytest.mark.parametrize("model", ["/etc/hostname", "../x/config.json", "./config.json", "~/model.gguf", "x" * 300])
def test_an_address_opens_no_file(model: str) -> None:
    app = opened(model=model)
    assert "This model is not known here" in headline(app)
    assert "is not in the model catalog" in said(app)


def test_an_unknown_model_offers_those_spelled_alike() -> None:
    app = opened(model="Qwen/Qwen3.5-27")
    assert "Qwen/Qwen3.5-27B" in said(app)
    fix = next(button for button in app.button if button.label == "Use Qwen3.5-27B")
    ran(fix.click())
    assert "Qwen/Qwen3.5-27B ·" in said(app)
    assert query(app, "model") == "Qwen/Qwen3.5-27B"


def test_an_alias_can_be_typed() -> None:
    app = opened()
    alias = all_ids()[len(entry_ids())]
    ran(app.selectbox(key="form_model").set_value(alias))
    assert f"{alias} ·" in said(app)
    assert "requests of" in headline(app)


def test_a_split_that_cannot_be_has_ways_out_and_keeps_the_page() -> None:
    app = opened(model="Qwen/Qwen3.5-27B", tensor_parallel=16, engine="minimum")
    assert headline(app).endswith("No split of Qwen3.5-27B over 16 GPUs")
    assert said(app).count("24 attention heads, which 16 GPUs cannot share evenly") == 2  # at the control too
    assert "16 × H100 SXM5 80 GB" in said(app)
    assert len(app.table) == 1
    labels = [button.label for button in app.button if (button.key or "").startswith("fix_")]
    assert labels == ["Use 8 GPUs, TP 8", "TP 8 × PP 2 on 16 GPUs"]
    ran(app.button(key="fix_1").click())
    assert (query(app, "tensor_parallel"), query(app, "pipeline_parallel")) == ("8", "2")
    assert "requests of" in headline(app)


def test_fields_that_contradict_are_told_and_kept() -> None:
    app = opened(context_length=100, shared_prefix_tokens=200, engine="minimum")
    assert "A shared prefix of 200 tokens is longer than the 100 tokens" in said(app)
    assert query(app, "shared_prefix_tokens") == "200"


def test_a_length_beyond_the_models_own_is_answered_with_a_note() -> None:
    app = opened(context_length=200_000, batch_size=1, engine="minimum")
    assert "200,000 tokens are more than the 131,072 this model was made for." in said(app)
    assert "200,000 tokens" in headline(app)


def pasted(text: str) -> AppTest:
    app = opened(model="config.json", engine="minimum")
    assert "config.json" in headline(app)
    return ran(app.text_area(key="form_config").set_value(text))


def test_a_pasted_config() -> None:
    app = pasted(json.dumps(CONFIG))
    assert "requests of 8,192 tokens" in headline(app)
    assert figures(app)["One request"] == "0.03 GiB"  # 4 layers × 2 × 2 heads × 128 × 2 bytes × 8,192 tokens: 32 MiB
    again = opened(model="config.json", engine="minimum", config=query(app, "config"))
    assert headline(again) == headline(app)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"model_type": "llama",\n "hidden_size": }', "Line 2 is not JSON"),
        ("[1, 2]", "not an object"),
        (json.dumps(CONFIG | {"num_hidden_layers": "many"}), 'num_hidden_layers is "many"; a whole number is needed.'),
        (json.dumps(CONFIG | {"num_hidden_layers": 10**9}), "num_hidden_layers"),
        ("[" * 100_000, "nested too deeply"),
        ('{"model_type": 7}', "model_type"),
    ],
)
def test_a_config_that_cannot_be_read_is_explained_and_kept(text: str, sentence: str) -> None:
    app = pasted(text)
    assert sentence in said(app)
    assert "This config.json cannot be read" in headline(app)
    assert app.text_area(key="form_config").value == text
    assert app.selectbox(key="form_weights").value == "auto"


def test_what_is_assumed_of_a_config_is_listed_and_lowers_the_grade() -> None:
    app = pasted(json.dumps(CONFIG | {"model_type": "newcomer"}))
    assert '"newcomer" is not a model type that is known here; it is read as a plain decoder.' in said(app)
    assert "rest on assumptions" in said(app)
    assert terms(app)["KV cache"][2] == "assumed"


def test_a_page_that_is_run_without_the_app_starts_over_from_it() -> None:
    """As Streamlit does for the first deep link after a start; the browser test sees the whole way."""
    script = "from components.frame import enter; enter('pages/plan.py'); import streamlit as st; st.title('alone')"
    app = AppTest.from_string(script).run()
    assert app.session_state["wanted_page"] == "pages/plan.py"
    assert not app.title


def test_pages_import_no_torch() -> None:
    code = (
        "import sys; from streamlit.testing.v1 import AppTest; "
        "app = AppTest.from_file('app.py', default_timeout=60).run(); "
        "assert app.title and not app.exception; "
        "print(sorted({'torch', 'transformers'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("[]")


def test_weights_beyond_the_budget_are_told_by_their_own_size() -> None:
    app = opened(model="meta-llama/Llama-3.3-70B-Instruct", accelerator="rtx-4090")
    over = gib(app, "Weights") - (gib(app, "Memory") - gib(app, "Outside the budget"))
    assert headline(app).endswith(f"Does not fit: the weights alone exceed the budget by {over:.0f} GiB")


def test_bar_and_terms_tell_the_same_share_of_the_memory() -> None:
    """llama.cpp keeps a margin and no fraction: 78.18 of 79.18 GiB."""
    app = opened(engine="llama.cpp")
    assert terms(app)["Outside the budget"][-1] == "the budget is 99% of the memory"
    assert "(99 %)" in app.get("plotly_chart")[0].proto.spec


@pytest.mark.parametrize("model", ["[win](http://a.example)", "**bold** :material/home:", "<b>x</b> $a$"])
def test_what_a_link_says_is_shown_as_text(model: str) -> None:
    app = opened(model=model, units=model)
    assert model in said(app)
    shown = [element.value for kind in (app.caption, app.markdown) for element in kind]
    assert not any(model in text for text in shown)
