"""Compare and what is taken along, through Streamlit's own test runner: every control, every damaged link and file."""

import json
import re
from datetime import date
from html import unescape
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Widget

from components import choices
from components.pins import LONGEST_NAME, Pin, read_pins, write_pins
from components.url_state import DEFAULTS, FIELDS
from hardware_catalog import all_accelerators
from hardware_catalog.prices import price_per_hour
from model_catalog.lookup import find_entry
from sizing.answer import answer
from sizing.scenario import make_scenario
from sizing.size import size

ROOT = Path(__file__).parents[2]
BASE = {name: DEFAULTS[name] for name in FIELDS}
GEMMA = BASE | {
    "model": "google/gemma-3-27b-it",
    "engine": "minimum",
    "accelerator": "h100-sxm5-80gb",
    "context_length": 32_768,
    "batch_size": 16,
}
VERDICTS = {"fits": "✓ fits", "tight": "✓ tight", "short": "✕ short", None: "no memory known"}
FORM = {"model": "google/gemma-3-27b-it", "engine": "minimum", "context_length": "32768", "tensor_parallel": "4"}
CONFIG = json.dumps(
    {
        "model_type": "llama",
        "hidden_size": 1024,
        "num_hidden_layers": 4,
        "num_attention_heads": 8,
        "num_key_value_heads": 2,
        "intermediate_size": 2816,
        "vocab_size": 32000,
        "torch_dtype": "bfloat16",
    }
)


def opened(page: str = "compare", **query: str) -> AppTest:
    """The page as a visitor with this address sees it; it must not have raised."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    if page != "plan":  # the front page, where app.py starts by itself
        app.switch_page(f"pages/{page}.py")
    for name, value in query.items():
        app.query_params[name] = value
    return ran(app)


def ran(step: AppTest | Widget) -> AppTest:
    app = step.run()
    assert [error.message for error in app.exception] == []
    return app


def three() -> str:
    return write_pins([Pin(GEMMA, "first"), Pin(GEMMA | {"weights": "awq-int4"}), Pin(GEMMA | {"tensor_parallel": 2})])


def headline(app: AppTest) -> str:
    return app.title[0].value


def said(app: AppTest) -> str:
    """What the reader sees."""
    shown = "\n".join(element.value for kind in (app.caption, app.markdown, app.header) for element in kind)
    return re.sub(r"\\(.)", r"\1", shown).replace("\u2060", "")  # without what keeps texts from being read as markup


def query(app: AppTest, name: str) -> str:
    value = app.query_params[name]
    return str(value[0] if isinstance(value, list) else value)


def pins_in(app: AppTest) -> list[Pin]:
    pins, complaints = read_pins(query(app, "pins"))
    assert complaints == ()
    return list(pins)


def table(app: AppTest) -> dict[str, list[str]]:
    """The differences table: cells by row, the header under "Row"."""
    (body,) = [each.proto.body for each in app.get("html") if "Differences" in each.proto.body]
    rows = [re.findall("<t[dh][^>]*>(.*?)</t[dh]>", row) for row in re.split("<tr>", body)]
    texts = [[unescape(re.sub("<[^>]*>", "", cell)) for cell in row] for row in rows if row]
    return {row[0]: row[1:] for row in texts}


def figure(app: AppTest, index: int = 0) -> dict[str, list[dict[str, object]]]:
    return json.loads(app.get("plotly_chart")[index].proto.spec)  # type: ignore[no-any-return]


def test_without_pins_it_answers_and_says_how_to_pin() -> None:
    app = opened()
    assert "16 requests of 8,192 tokens" in headline(app)
    assert "Pin this scenario, here or on Plan" in said(app)
    assert len(app.get("plotly_chart")) == 1
    assert len(app.data_editor[0].value) == len(all_accelerators())


def test_pinning_on_plan_is_kept_and_compared() -> None:
    app = opened("plan", **FORM)
    ran(app.button(key="pin").click())
    assert [pin.values["tensor_parallel"] for pin in pins_in(app)] == [4]
    assert app.button(key="pin").label == "Pinned"
    assert app.button(key="pin").disabled
    ran(app.selectbox(key="form_weights").set_value("fp8"))
    assert app.button(key="pin").label == "Pin"
    ran(app.button(key="pin").click())
    assert [pin.values["weights"] for pin in pins_in(app)] == ["auto", "fp8"]
    kept = {name: query(app, name) for name in app.query_params}
    app.switch_page("pages/compare.py")
    ran(app)
    assert list(table(app)) == ["Row", "A", "B"]
    assert "2 scenarios at 32K tokens × 16, per GPU" in said(app)
    assert {name: query(app, name) for name in app.query_params} == kept


def test_the_link_opens_the_same_comparison() -> None:
    app = opened(**FORM, pins=three())
    again = opened(**{name: query(app, name) for name in app.query_params})
    assert headline(again) == headline(app)
    assert table(again) == table(app)
    assert figure(again) == figure(app)


def test_rows_results_and_differences() -> None:
    app = opened(**FORM, pins=three())
    rows = table(app)
    worth = {key: int(rows[key][2].replace(",", "")) / float(rows[key][4]) for key in ("B", "C", "Now")}
    best = max(worth, key=lambda key: worth[key])
    assert re.fullmatch(f"3 of 4 fit; {best}, gemma.*, serves most per dollar", headline(app))
    assert list(rows) == ["Row", "A", "B", "C", "Now"]
    assert rows["Row"] == ["Weights", "KV cache", "At once", "Max tokens", "$/h", "Verdict"]
    report = size(make_scenario(GEMMA | {"tensor_parallel": 2}), find_entry("google/gemma-3-27b-it").spec, None)
    kv = report.per_gpu.kv_bytes / 2**30
    assert rows["C"][1].startswith(f"{kv:.2f} −")
    alone = price_per_hour("h100-sxm5-80gb")
    assert alone is not None
    assert [rows[key][4] for key in "AC"] == [f"{alone.median_usd:.2f}", f"{2 * alone.median_usd:.2f}"]
    labels = [note["text"] for note in figure(app)["layout"]["annotations"]]  # type: ignore[call-overload]
    assert labels[0] == "<b>A</b>  first"
    assert labels[2] == "<b>B</b>  gemma-3-27b-it · INT4 AWQ · 1 × H100 SXM5 80 GB"
    assert str(labels[1]).strip().startswith("short <b>")


def test_baseline_and_waterfall_follow_their_controls_and_the_address() -> None:
    app = opened(**FORM, pins=three())
    assert "Differences from A" in said(app)
    ran(app.selectbox(key="form_baseline").set_value("B"))
    ran(app.selectbox(key="form_against").set_value("A"))
    assert (query(app, "baseline"), query(app, "against")) == ("B", "A")
    assert "From B to A: what changes the room" in said(app)
    assert "−" not in table(app)["B"][0]
    assert "+" in table(app)["A"][0]
    waterfall = app.get("plotly_chart")[1].proto
    assert re.search("From .* in B to .* in A: Weights −", waterfall.alt)


def test_renaming() -> None:
    app = opened(**FORM, pins=three())
    app.session_state["edit_pins"] = True
    ran(app)
    ran(app.text_input(key="form_pin_name_1").set_value("  <b>four bits</b> [x](http://a) "))
    assert [pin.name for pin in pins_in(app)] == ["first", "<b>four bits</b> [x](http://a)", ""]
    labels = [note["text"] for note in figure(app)["layout"]["annotations"]]  # type: ignore[call-overload]
    assert "<b>B</b>  &lt;b&gt;four bits&lt;/b&gt; [x](http://a)" in labels
    assert "[x](http" not in headline(app)
    ran(app.text_input(key="form_pin_name_1").set_value(""))
    assert pins_in(app)[1].name == ""
    assert app.text_input(key="form_pin_name_1").proto.max_chars == LONGEST_NAME


def test_removing_keeps_the_chosen_rows() -> None:
    app = opened(**FORM, pins=three(), baseline="B", against="C")
    app.session_state["edit_pins"] = True
    ran(app)
    ran(app.button(key="remove_pin_0").click())
    assert [pin.name for pin in pins_in(app)] == ["", ""]
    assert (query(app, "baseline"), query(app, "against")) == ("A", "B")
    ran(app.button(key="remove_pin_0").click())
    assert "baseline" not in app.query_params
    assert query(app, "against") == "A"
    ran(next(button for button in app.button if button.label == "Remove all pins").click())
    assert "pins" not in app.query_params
    assert "Pin this scenario" in said(app)


def test_taking_up_a_pin_sets_the_form() -> None:
    app = opened(**FORM, pins=three())
    app.session_state["edit_pins"] = True
    ran(app)
    ran(app.button(key="use_pin_1").click())
    assert app.selectbox(key="form_weights").value == "awq-int4"
    assert query(app, "weights") == "awq-int4"
    assert app.button(key="pin").label == "Pinned"
    assert list(table(app)) == ["Row", "A", "B", "C"]


def test_a_custom_model_is_pinned_with_its_config() -> None:
    app = opened("plan", model="config.json", engine="minimum")
    ran(app.text_area(key="form_config").set_value(CONFIG))
    ran(app.button(key="pin").click())
    again = opened(pins=query(app, "pins"), model="Qwen/Qwen3.5-27B", engine="minimum")
    assert pins_in(again)[0].config_text == CONFIG
    assert "Your own config.json" in str(figure(again)["layout"])
    assert list(table(again)) == ["Row", "A", "Now"]


def test_more_pins_than_a_link_holds_stay_in_the_visit_and_go_into_the_file() -> None:
    app = opened("plan", **FORM)
    held = app.session_state["scenario"]
    held.pins = tuple(Pin(GEMMA | {"batch_size": index + 1}, f"pin number {index}") for index in range(90))
    app.session_state["share"] = True
    ran(app)
    assert "Your 90 pins are too long for a link. The file below holds them." in said(app)
    assert "pins" not in app.query_params
    app.switch_page("pages/compare.py")
    ran(app)
    assert len(table(app)) == 92


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"pins": "x"}, "Pin A in the link is left out: it holds no scenario."),
        ({"pins": write_pins([Pin(GEMMA)])[:-4]}, "Pin A in the link is left out: it holds no scenario."),
        ({"pins": "A" * 7_000}, "The pins in the link are too long to be read"),
        ({"prices": "h100-sxm5-80gb~cheap"}, "A price in the link cannot be read; the list price is used."),
        ({"prices": "nothing~3"}, "A price in the link cannot be read; the list price is used."),
        ({"batch_size": "many"}, "batch_size is "),
    ],
)
def test_a_damaged_link_is_told_and_the_rest_kept(given: dict[str, str], sentence: str) -> None:
    app = opened(**(FORM | given))
    assert sentence in said(app)
    assert app.selectbox(key="form_model").value == FORM["model"]


def test_one_damaged_pin_leaves_the_others() -> None:
    first, second, third = three().split(".")
    app = opened(**FORM, pins=f"{first}.{second[:20]}.{third}")
    assert "Pin B in the link is left out" in said(app)
    assert list(table(app)) == ["Row", "A", "B", "Now"]


@pytest.mark.parametrize("view", [{"baseline": "Q", "against": "<b>"}, {"baseline": "", "against": "A" * 5_000}])
def test_unknown_rows_in_a_link_are_the_usual_ones(view: dict[str, str]) -> None:
    assert "From A to the form's scenario" in said(opened(**FORM, pins=three(), **view))


def test_a_pin_that_cannot_be_is_a_row_with_its_reason() -> None:
    pins = write_pins(
        [Pin(GEMMA | {"model": "Qwen/Qwen3.5-27B", "tensor_parallel": 16}), Pin(GEMMA | {"model": "no/such"})]
    )
    app = opened(**FORM, pins=pins, baseline="A")
    assert "24 attention heads, which 16 GPUs cannot share evenly" in said(app)
    assert "is not in the model catalog" in said(app)
    assert table(app)["A"][-1] == "cannot be"
    assert "there is nothing to compare" in said(app)


def test_every_accelerator_as_the_command_line_answers() -> None:
    app = opened(**FORM)
    frame = app.data_editor[0].value.set_index("Accelerator")
    values = {**FORM, "context_length": 32_768, "tensor_parallel": 4, "batch_size": 16}
    for accelerator in all_accelerators()[::10]:
        report = answer(values | {"accelerator": accelerator.id})
        row = frame.loc[choices.short_accelerator(accelerator.id)]
        fits = report["verdict"]["fits"]
        assert (
            row["Verdict"]
            == {True: "✓ " + str(report["verdict"]["state"]), False: "✕ short", None: "no memory known"}[fits]
        )
        if fits is not None:
            assert row["Max requests"] == report["capacity"]["max_batch_at_context"]
            assert bool(row["Room, GiB"] < 0) is (not fits)


def test_prices_are_dated_with_their_source_and_can_be_ones_own() -> None:
    app = opened(**FORM, prices="rtx-4090~0.25")
    frame = app.data_editor[0].value.set_index("Accelerator")
    listed, price = frame.loc["H100 SXM5 80 GB"], price_per_hour("h100-sxm5-80gb")
    assert price is not None
    assert listed["$ per GPU-hour"] == price.median_usd
    assert listed["$ per hour"] == price.median_usd * listed["GPUs needed"]
    assert listed["Dated"] == "2026-10-20"
    assert listed["Price from"].startswith("median of 12 providers, 1.80 to 12.29; ")
    own = frame.loc[choices.short_accelerator("rtx-4090")]
    assert (own["$ per GPU-hour"], own["Price from"]) == (0.25, "as given")


@pytest.mark.parametrize(
    ("tab", "first", "rows"), [("All precisions", "Weights As stored", 35), ("All engines", "vLLM", 5)]
)
def test_precisions_and_engines(tab: str, first: str, rows: int) -> None:
    app = opened(**FORM)
    app.session_state["options"] = tab
    ran(app)
    frame = app.dataframe[0].value
    assert len(frame) >= rows
    assert frame.iloc[:, 0].str.contains(first).any()
    answered = frame["Verdict"] != "cannot be"
    assert answered.any()
    assert frame["Why not"][~answered].str.len().gt(10).all()
    assert (frame["Why not"][answered] == "").all()


def test_every_table_is_offered_as_csv_and_json() -> None:
    app = opened(**FORM, pins=three())
    for tab, name in (
        ("All accelerators", "accelerators"),
        ("All precisions", "precisions"),
        ("All engines", "engines"),
    ):
        app.session_state["options"] = tab
        ran(app)
        keys = {button.key for button in app.download_button}
        assert {f"{name}_csv", f"{name}_json", "comparison_csv", "comparison_json"} <= keys


def shared(page: str = "compare", **query_: str) -> AppTest:
    app = opened(page, **query_)
    app.session_state["share"] = True
    return ran(app)


@pytest.mark.parametrize("page", ["plan", "compare"])
def test_the_share_menu_holds_link_report_file_and_command(page: str) -> None:
    app = shared(page, **FORM, pins=three())
    assert [button.label for button in app.download_button][:2] == ["Report (HTML)", "Everything (JSON)"]
    codes = [code.value for code in app.code]
    assert f"pins={three()}" in codes[0]
    assert codes[1].startswith("python -m sizing")
    assert "--tensor-parallel 4" in codes[1]
    ran(app.selectbox(key="form_engine").set_value("vllm"))
    assert app.code[2].value.startswith("vllm serve google/gemma-3-27b-it")


def test_a_saved_file_restores_everything() -> None:
    from components.export_file import to_file
    from components.scenario_state import held_from

    held = held_from(FORM | {"pins": three(), "baseline": "C", "prices": "b200-sxm-180gb~3", "units": "GB"}, "compare")
    app = shared(model="Qwen/Qwen3.5-27B")
    file = ("kv-atlas.json", to_file(held, date_of_test()).encode(), "application/json")
    ran(app.file_uploader(key="open_file").set_value(file))
    assert app.selectbox(key="form_model").value == FORM["model"]
    assert "Differences from C, GB per GPU" in said(app)
    assert list(table(app)) == ["Row", "A", "B", "C", "Now"]
    assert query(app, "pins") == three()
    assert query(app, "tensor_parallel") == "4"


def date_of_test() -> date:
    return date(2026, 11, 29)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"{", "The file is damaged or not JSON, so it is not opened."),
        (b'{"hello": 1}', "This file is not one that KV Atlas saved: it holds no scenario."),
        (b'{"kv_atlas_file": 9, "scenario": {}}', "The file's version is 9; this KV Atlas opens version 1."),
    ],
)
def test_a_file_that_cannot_be_opened_changes_nothing(data: bytes, sentence: str) -> None:
    app = shared(**FORM, pins=three())
    before = headline(app), table(app)
    ran(app.file_uploader(key="open_file").set_value(("x.json", data, "application/json")))
    assert sentence in said(app)
    assert (headline(app), table(app)) == before
    assert sentence not in said(ran(app))


def test_what_a_file_holds_wrongly_is_told_and_the_rest_opened() -> None:
    app = shared(**FORM)
    content = {"kv_atlas_file": 1, "scenario": {"model": "Qwen/Qwen3.5-27B", "batch_size": "x"}, "pins": [{}]}
    ran(app.file_uploader(key="open_file").set_value(("x.json", json.dumps(content).encode(), "application/json")))
    assert "In the file, batch_size is " in said(app)
    assert "Pin A in the file is left out" in said(app)
    assert app.selectbox(key="form_model").value == "Qwen/Qwen3.5-27B"
