"""Plan with each engine: its settings, its remedies, its command, all through Streamlit's own test runner."""

import json
import re

import pytest
from streamlit.testing.v1 import AppTest

from components.engine_settings import GROUPS
from components.setting_help import HELP
from sizing.engines import ENGINES
from sizing.engines.words import ENGINE_FIELDS, OPTIONS
from tests.pages.test_plan import figures, headline, opened, query, ran, said, terms

GEMMA = {"model": "google/gemma-3-27b-it", "context_length": 32_768}


def with_settings(**query_: object) -> AppTest:
    app = opened(**query_)
    app.session_state["settings"] = app.session_state["exact"] = True
    return ran(app)


def remedies(app: AppTest) -> list[str]:
    return [button.label for button in app.button if (button.key or "").startswith("remedy_")]


def labels(app: AppTest) -> set[str]:
    """Of all controls, in lower case."""
    kinds = (app.number_input, app.selectbox, app.text_input, app.toggle)
    return {widget.label.lower() for kind in kinds for widget in kind}


@pytest.mark.parametrize("engine", sorted(ENGINES))
def test_every_engine_names_its_settings(engine: str) -> None:
    """Llama 4 Scout has windows and experts and sees; Qwen3.6 has recurrent states, experts and sees."""
    drawn = set()
    for model in ("meta-llama/Llama-4-Scout-17B-16E-Instruct", "Qwen/Qwen3.6-35B-A3B"):
        drawn |= labels(with_settings(engine=engine, model=model, tensor_parallel=2))
    assert {option.word.lower() for option in OPTIONS[engine].values()} <= drawn


@pytest.mark.parametrize("engine", sorted(ENGINES))
def test_settings_that_say_nothing_here_are_left_out(engine: str) -> None:
    """Llama 3.1 8B on one GPU: no windows, states, experts or encoders."""
    other = {
        "hybrid_kv_cache_manager",
        "swa_full",
        "swa_full_tokens_ratio",
        "mamba_full_memory_ratio",
        "max_mamba_cache_size",
        "cpu_moe_layers",
        "media_limits",
        "split_mode",
        "tensor_split",
        "memory_by_gpu",
    }
    words = {OPTIONS[engine][field].word.lower() for field in other if field in OPTIONS[engine]}
    drawn = labels(with_settings(engine=engine))
    assert not words & drawn
    assert not {"expert parallel", "data-parallel attention", "recurrent state"} & drawn


def test_a_setting_that_is_set_is_shown_though_it_says_nothing() -> None:
    assert "n-cpu-moe" in labels(with_settings(engine="llama.cpp", cpu_moe_layers=4))
    assert "expert parallel" in labels(with_settings(expert_parallel="true"))


def test_every_setting_is_in_a_group_and_has_a_help() -> None:
    grouped = [name for names in GROUPS.values() for name in names]
    assert sorted(grouped) == sorted(ENGINE_FIELDS)
    assert set(HELP) == ENGINE_FIELDS


def test_the_defaults_stand_in_the_empty_fields() -> None:
    """vLLM 0.33 on an H100: 0.92 of the memory, 1,024 sequences, 8,192 tokens at once (engine/arg_utils.py)."""
    app = with_settings()
    shown = {widget.label: widget.placeholder for widget in app.number_input}
    assert shown["gpu_memory_utilization"] == "0.92"
    assert (shown["max_num_seqs"], shown["max_num_batched_tokens"]) == ("1,024", "8,192")
    older = {widget.label: widget.placeholder for widget in with_settings(engine_version="0.9.2").number_input}
    assert older["gpu_memory_utilization"] == "0.9"


@pytest.mark.parametrize(
    ("engine", "field", "value"),
    [
        ("vllm", "max_num_batched_tokens", 2048),
        ("vllm", "max_model_len", 16_384),
        ("sglang", "chunked_prefill_size", 2048),
        ("sglang", "memory_fraction", 0.7),
        ("llama.cpp", "gpu_layers", 10),
        ("llama.cpp", "ubatch_size", 128),
        ("tensorrt-llm", "memory_fraction", 0.7),
    ],
)
def test_a_setting_is_answered_and_in_the_address(engine: str, field: str, value: float) -> None:
    app = with_settings(engine=engine)
    app.session_state["details"] = "Command"
    before = ran(app).code[-1].value
    ran(app.number_input(key=f"form_{field}").set_value(value))
    assert query(app, field) == str(value)
    assert app.code[-1].value != before


def test_switches_have_a_default_and_two_positions() -> None:
    app = with_settings()
    ran(app.selectbox(key="form_enforce_eager").set_value("on"))
    assert query(app, "enforce_eager") == "true"
    ran(app.selectbox(key="form_enforce_eager").set_value(""))
    assert "enforce_eager" not in app.query_params


def test_a_model_with_encoders_can_be_served_for_text_alone() -> None:
    app = with_settings(model="Qwen/Qwen3.6-35B-A3B", tensor_parallel=4)
    app.session_state["details"] = "Command"
    before = int(figures(app)["Max requests"].replace(",", ""))
    ran(app.selectbox(key="form_media").set_value("text"))
    assert [query(app, f"media_limits.{kind}") for kind in ("image", "video", "audio")] == ["0", "0", "0"]
    assert int(figures(app)["Max requests"].replace(",", "")) > before
    assert "--language-model-only" in app.code[-2].value
    ran(app.selectbox(key="form_media").set_value("chosen"))
    ran(app.number_input(key="form_media_image").set_value(4))
    assert query(app, "media_limits.image") == "4"
    assert int(figures(app)["Max requests"].replace(",", "")) == before


def test_shares_of_unequal_gpus_and_how_they_are_split() -> None:
    """Llama 3.1 8B's 33 layers with the output over two GPUs by 3,1: 25 and 8, each in a bar of its own."""
    app = with_settings(engine="llama.cpp", tensor_parallel=2, weights="q8_0", engine_version="2026-01-10")
    ran(app.text_input(key="form_tensor_split").set_value("3,1"))
    assert query(app, "tensor_split") == "3,1"
    chart = json.loads(app.get("plotly_chart")[0].proto.spec)
    assert [note["text"] for note in chart["layout"]["annotations"]][:2] == ["GPU 1", "GPU 2"]
    ran(app.selectbox(key="form_split_mode").set_value("row"))
    assert query(app, "split_mode") == "row"
    assert "Matrices are split by rows over the 2 GPUs" in said(app)
    ran(app.text_input(key="form_tensor_split").set_value("3"))
    assert "1 share for 2 GPUs; one for each is needed." in said(app)


def test_gpus_of_different_sizes_have_a_bar_each() -> None:
    app = with_settings(engine="llama.cpp", tensor_parallel=2, weights="q8_0", batch_size=1)
    ran(app.text_input(key="form_memory_by_gpu").set_value("24 GiB, 12 GiB"))
    assert query(app, "memory_by_gpu") == f"{24 * 2**30},{12 * 2**30}"
    assert "Fits" in headline(app)
    layout = json.loads(app.get("plotly_chart")[0].proto.spec)["layout"]
    assert [note["text"] for note in layout["annotations"]] == ["GPU 1 · card 24.0 GiB", "GPU 2 · card 12.0 GiB"]
    assert [line["x0"] // 2**30 for line in layout["shapes"]] == [24, 23, 12, 11]  # each card's end and its budget
    ran(app.text_input(key="form_memory_by_gpu").set_value("6 GiB, 3 GiB"))
    assert "the weights alone exceed the budget by 0.68 GiB on GPU 2" in headline(app)
    ran(app.text_input(key="form_memory_by_gpu").set_value("24 GiB, a dozen"))
    assert "Sizes are needed, one for each GPU" in said(app)
    assert app.text_input(key="form_memory_by_gpu").value == "24 GiB, a dozen"


def test_one_request_is_that_of_the_gpu_that_holds_most() -> None:
    """Qwen3 30B keeps 2,048 bytes a token and layer; of its 49 layers with the output 37 are on the first GPU."""
    app = opened(
        engine="llama.cpp",
        model="Qwen/Qwen3-30B-A3B",
        weights="q4_k_m",
        accelerator="rtx-4090",
        batch_size=1,
        tensor_parallel=2,
        tensor_split="3,1",
    )
    (one,) = [metric for metric in app.metric if metric.label == "One request"]
    assert (one.value, one.delta) == ("0.58 GiB", "74 KiB a token, at most")


def test_terms_say_how_much_of_what_is_left_the_load_can_take() -> None:
    """SGLang shares the memory out to states and tokens by a fixed ratio, so that one of the pools is full first."""
    app = opened(engine="sglang", model="Qwen/Qwen3.6-35B-A3B", tensor_parallel=2)
    left = terms(app)["Left in the budget"][-1]
    amount = re.fullmatch(r"what the terms above leave; ([\d.]+ GiB) of it can take more of these requests", left)
    assert amount and amount[1] in headline(app)
    assert "can take more" not in terms(opened())["Left in the budget"][-1]


def test_a_remark_is_not_said_again_under_terms() -> None:
    app = opened(model="openai/gpt-oss-120b", accelerator="dgx-spark-gb10")
    assert said(app).count("The GPU may use 121.6 of the 128 GiB") == 1


def test_what_llama_cpp_starts_with_is_told_where_the_load_does_not_fit() -> None:
    app = opened(
        engine="llama.cpp", model="meta-llama/Llama-3.3-70B-Instruct", weights="q4_k_m", accelerator="rtx-4090"
    )
    assert "Where -ngl is not set, llama.cpp starts with" in said(app)
    assert "starts with" not in said(opened(engine="llama.cpp", weights="q4_k_m"))


def test_what_a_machine_leaves_to_its_gpu_is_told_and_can_be_set() -> None:
    app = with_settings(engine="llama.cpp", accelerator="apple-m4-max-40c", weights="q8_0")
    assert "The GPU may use 96.0 of the 128 GiB that it shares with the CPU" in said(app)
    ran(app.text_input(key="form_total_memory_bytes").set_value("112 GiB"))
    assert query(app, "total_memory_bytes") == str(112 * 2**30)
    assert "that it shares with the CPU" not in said(app)


def test_experts_in_host_memory_and_what_it_holds() -> None:
    app = with_settings(engine="llama.cpp", model="Qwen/Qwen3-30B-A3B", weights="q4_k_m", batch_size=1)
    ran(app.number_input(key="form_cpu_moe_layers").set_value(48))
    assert query(app, "cpu_moe_layers") == "48"
    assert "Host memory holds" in said(app)


def test_images_of_a_request() -> None:
    """Qwen3-VL: 1,024 tokens of 98,304 bytes for an image of 1,024 × 1,024."""
    app = opened(model="Qwen/Qwen3-VL-30B-A3B-Instruct", tensor_parallel=2)
    app.session_state["carried"] = True
    ran(app)
    assert not [name for name in app.query_params if name.startswith("media")]
    ran(app.number_input(key="form_carried_images").set_value(4))
    assert query(app, "media.images") == "4"
    assert "An image of 1,024 × 1,024 takes 1,024 tokens and 96 MiB of cache." in said(app)
    assert "Together 4,096 of 8,192 tokens (50%) and 384 MiB of a request's cache." in said(app)
    ran(app.number_input(key="form_carried_images").set_value(9))
    assert "more than its 8,192 tokens in all" in said(app)
    ran(app.number_input(key="form_carried_width").set_value(512))
    ran(app.number_input(key="form_carried_images").set_value(0))
    assert not [name for name in app.query_params if name.startswith("media")]
    assert app.number_input(key="form_carried_width").value == 512


def test_a_link_with_media_that_the_model_does_not_take() -> None:
    app = opened(**{"media.images": 1, "media.width": 64, "media.height": 64})
    assert "This model takes no images." in said(app)
    assert not [each for each in opened().expander if "Images" in each.label]


def test_drafts_and_adapters() -> None:
    app = with_settings()
    ran(app.selectbox(key="form_draft_method").set_value("ngram"))
    ran(app.number_input(key="form_draft_tokens").set_value(4))
    assert (query(app, "speculative.method"), query(app, "speculative.tokens")) == ("ngram", "4")
    ran(app.number_input(key="form_lora_slots").set_value(2))
    assert (query(app, "lora.max_loras"), query(app, "lora.rank")) == ("2", "16")


def test_a_draft_of_its_own_is_offered_and_counted() -> None:
    """Methods are the engine's; a checkpoint made for the model is taken at once, and any id can be typed."""
    app = with_settings()
    assert set(app.selectbox(key="form_draft_method").options) == {"None", *ENGINES["vllm"].draft_methods}
    before = figures(app)["Max requests"]
    ran(app.selectbox(key="form_draft_method").set_value("eagle3"))
    head = "RedHatAI/Llama-3.1-8B-Instruct-speculator.eagle3"
    assert query(app, "speculative.model") == head
    assert app.selectbox(key="form_draft_model_eagle3").options[:2] == ["None", head.rpartition("/")[2]]
    assert int(figures(app)["Max requests"]) < int(before)
    app.session_state["details"] = "Terms"
    assert ">Draft<" in ran(app).get("html")[-1].proto.body
    app.session_state["details"] = "Command"
    assert head in ran(app).code[-2].value


def test_whole_models_that_share_the_vocabulary_may_draft() -> None:
    app = with_settings()
    ran(app.selectbox(key="form_draft_method").set_value("draft_model"))
    assert "meta-llama/Llama-3.2-" in str(query(app, "speculative.model"))
    before = int(figures(app)["Max requests"])
    ran(app.selectbox(key="form_draft_weights").set_value("awq-int4"))
    assert query(app, "speculative.weights") == "awq-int4"
    assert int(figures(app)["Max requests"]) > before
    ran(app.selectbox(key="form_draft_weights").set_value("auto"))
    assert "speculative.weights" not in app.query_params


def test_a_draft_that_is_not_known_is_told_at_its_control() -> None:
    app = opened(**{"speculative.method": "eagle3", "speculative.model": "/etc/config.json"})
    assert '"/etc/config.json" is not in the model catalog' in said(app)
    app = opened(**{"speculative.method": "eagle3"})
    assert "needs a draft model" in said(app)


def test_settings_of_one_engine_are_left_behind_by_the_next() -> None:
    app = opened(enforce_eager="true", max_num_seqs=64, engine_version="0.12")
    ran(app.selectbox(key="form_engine").set_value("llama.cpp"))
    assert "requests of 8,192 tokens" in headline(app)
    assert "enforce_eager" not in app.query_params
    assert "engine_version" not in app.query_params
    assert query(app, "max_num_seqs") == "64"


def test_a_draft_is_left_behind_by_the_next_engine_and_adapters_by_one_without() -> None:
    app = with_settings(**{"speculative.method": "ngram", "lora.max_loras": 2, "lora.rank": 16})
    ran(app.selectbox(key="form_engine").set_value("sglang"))
    assert app.selectbox(key="form_draft_method").value == ""
    assert not [name for name in app.query_params if name.startswith("speculative")]
    assert query(app, "lora.max_loras") == "2"
    ran(app.selectbox(key="form_engine").set_value("llama.cpp"))
    assert not [name for name in app.query_params if name.startswith("lora")]
    assert "requests of 8,192 tokens" in headline(app)


def test_a_size_in_host_memory_that_cannot_be_read_is_told_in_the_engine_s_word() -> None:
    app = with_settings()
    ran(app.text_input(key="form_cpu_offload_bytes").set_value("lots"))
    assert '"lots" is not a size. Write it like 24 GiB' in said(app)
    assert app.button(key="fix_0").label == "Use the default for cpu_offload_gb"
    assert app.text_input(key="form_cpu_offload_bytes").value == "lots"


def test_sizes_given_for_one_card_are_left_behind_by_the_next() -> None:
    app = with_settings(engine="llama.cpp", tensor_parallel=2, memory_by_gpu=f"{24 * 2**30},{8 * 2**30}")
    ran(app.selectbox(key="form_accelerator").set_value("rtx-5090"))
    assert "memory_by_gpu" not in app.query_params
    assert app.text_input(key="form_memory_by_gpu").value == ""
    assert terms(app) == terms(opened(engine="llama.cpp", tensor_parallel=2, accelerator="rtx-5090"))


def test_any_release_may_be_named() -> None:
    app = opened(engine_version="0.10.1rc1")
    assert app.selectbox(key="form_version_vllm").value == "0.10.1rc1"
    assert "vLLM 0.10.1rc1" in said(app)
    ran(app.selectbox(key="form_version_vllm").set_value("0.8"))
    assert query(app, "engine_version") == "0.8"


@pytest.mark.parametrize("engine", sorted(ENGINES))
def test_a_remedy_that_fits_makes_it_fit_when_it_is_clicked(engine: str) -> None:
    app = opened(engine=engine, **GEMMA)
    assert "Short by" in headline(app)
    assert remedies(app)
    ran(app.button(key="remedy_0").click())
    assert "Fits" in headline(app) or "Tight" in headline(app)
    assert any(name in app.query_params for name in ("weights", "kv_dtype", "context_length", "gpu_layers"))


def test_room_for_more_is_by_requests() -> None:
    app = opened()
    assert remedies(app)[0] == "2 GPUs, TP 2"
    before = int(figures(app)["Max requests"])
    ran(app.button(key="remedy_0").click())
    assert int(figures(app)["Max requests"]) > 2 * before  # the weights are shared out, and the pools add up


def test_without_memory_there_is_nothing_to_change() -> None:
    app = opened(accelerator="")
    assert remedies(app) == []
    assert "once a memory size is known" in said(app)


def test_the_command_tab_starts_the_engine_and_repeats_the_answer() -> None:
    app = opened(tensor_parallel=2)
    app.session_state["details"] = "Command"
    shown = [code.value for code in ran(app).code][-2:]
    assert shown[0].startswith("vllm serve meta-llama/Llama-3.1-8B-Instruct")
    assert "--tensor-parallel-size 2" in shown[0]
    assert shown[1].startswith("python -m sizing")


@pytest.mark.parametrize("engine", sorted(ENGINES))
def test_limits_of_every_engine(engine: str) -> None:
    app = opened(engine=engine)
    app.session_state["details"] = "Limits"
    table = ran(app).get("html")[-1].proto.body
    assert "Smallest accelerator" in table
    assert "Fewest GPUs" in table
    assert ("Largest" in table) == ("max_model_len" in OPTIONS[engine])


def test_what_is_reserved_stands_beside_what_is_used() -> None:
    """vLLM reserves the batch in flight for the windows of Gemma 3; Llama has none."""
    said_ = said(opened(tensor_parallel=2, **GEMMA))
    (line,) = [line for line in said_.splitlines() if line.startswith("vLLM reserves")]
    reserved, used = (float(word) for word in line.split() if word[0].isdigit())
    assert reserved > used > 0
    assert "reserves" not in said(opened())
