from typing import Any
from urllib.parse import parse_qsl, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.url_state import ARRIVAL, FIELDS, query_to_scenario, read_query, scenario_to_query
from hardware_catalog import all_accelerators
from sizing.cache_formats import KNOWN
from sizing.scenario import LARGEST_BATCH, LARGEST_MEMORY, LONGEST_CONTEXT, Scenario, make_scenario
from sizing.weights.precisions import PRECISIONS

kv = st.sampled_from(["auto", *KNOWN])
words = st.sampled_from(["fp32", "bf16", "eagle3", "0.33.0rc1", "true", "12", "ngram"])
lengths = st.none() | st.integers(1, LONGEST_CONTEXT)
counts = st.none() | st.integers(1, LARGEST_BATCH)
flags = st.none() | st.booleans()
fractions = st.none() | st.floats(0, 1, exclude_min=True)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "model": st.sampled_from(["a/b", "config.json", "Qwen/Qwen3.5-27B", "7", "true", "x y&z=1"]),
    "weights": st.sampled_from(PRECISIONS),
    "kv_dtype": kv | st.fixed_dictionaries({"k": kv, "v": kv}),
    "state_dtype": st.just("auto") | st.fixed_dictionaries({"conv": words, "recurrent": words}),
    "engine": st.sampled_from(["minimum", "transformers"]),
    "engine_version": st.none() | words,
    "accelerator": st.none() | st.sampled_from([each.id for each in all_accelerators()]),
    "total_memory_bytes": st.none() | st.integers(1, LARGEST_MEMORY),
    "other_memory_bytes": st.integers(0, LARGEST_MEMORY),
    "tensor_parallel": st.integers(1, 4096),
    "pipeline_parallel": st.integers(1, 4096),
    "data_parallel": st.integers(1, 4096),
    "decode_context_parallel": st.integers(1, 4096),
    "expert_parallel": st.booleans(),
    "dp_attention": st.booleans(),
    "context_length": lengths,
    "batch_size": st.integers(1, LARGEST_BATCH),
    "max_model_len": lengths,
    "max_num_seqs": counts,
    "max_num_batched_tokens": lengths,
    "block_size": lengths,
    "memory_fraction": fractions,
    "enforce_eager": flags,
    "prefix_caching": flags,
    "hybrid_kv_cache_manager": flags,
    "chunked_prefill_size": lengths,
    "swa_full_tokens_ratio": fractions,
    "mamba_full_memory_ratio": fractions,
    "max_mamba_cache_size": st.none() | st.integers(1, 4096),
    "ubatch_size": lengths,
    "kv_unified": flags,
    "flash_attention": flags,
    "swa_full": flags,
    "speculative": st.none()
    | st.fixed_dictionaries(
        {"method": words, "tokens": st.integers(1, 16), "model": st.none() | words, "weights": st.none() | words}
    ),
    "lora": st.none() | st.fixed_dictionaries({"max_loras": st.integers(1, 64), "rank": st.integers(1, 512)}),
    "shared_prefix_tokens": st.just(0),
    "average_context_length": st.none() | st.just(1),
    "cpu_offload_bytes": st.integers(0, LARGEST_MEMORY),
    "media_limits": st.none()
    | st.fixed_dictionaries({kind: st.none() | st.integers(0, 99) for kind in ("image", "video", "audio")}),
    "pooling": flags,
    "media": st.none()
    | st.fixed_dictionaries(
        {
            "images": st.integers(1, 99),
            "frames": st.integers(0, 999),
            "width": st.integers(1, 9999),
            "height": st.integers(1, 9999),
            "audio_seconds": st.floats(0, 3600),
        }
    ),
    "gpu_layers": st.none() | st.integers(0, 4096),
    "cpu_moe_layers": st.none() | st.integers(0, 4096),
    "split_mode": st.sampled_from([None, "layer", "row", "none", "tensor"]),
    "tensor_split": st.none() | st.lists(st.floats(0, 2**50), min_size=1, max_size=16).map(tuple),
    "kv_offload": flags,
    "memory_by_gpu": st.none() | st.lists(st.integers(1, LARGEST_MEMORY), min_size=1, max_size=16).map(tuple),
    "available_kv_bytes": st.none() | st.integers(0, LARGEST_MEMORY),
}


def test_every_field_is_tried() -> None:
    assert set(VALUES) == set(FIELDS)


@given(st.fixed_dictionaries({"model": VALUES["model"]}, optional={k: v for k, v in VALUES.items() if k != "model"}))
def test_a_scenario_survives_the_address(values: dict[str, Any]) -> None:
    scenario = make_scenario(values)
    address = urlencode(scenario_to_query(scenario))
    again, complaints = query_to_scenario(dict(parse_qsl(address, keep_blank_values=True)))
    assert again == scenario
    assert complaints == ()


def test_an_empty_address_is_the_arrival() -> None:
    scenario, complaints = query_to_scenario({})
    assert scenario == Scenario(**ARRIVAL)
    assert complaints == ()


def test_links_say_the_load_even_where_it_is_the_arrivals() -> None:
    assert set(scenario_to_query(Scenario(**ARRIVAL))) == set(ARRIVAL)


@pytest.mark.parametrize(
    ("query", "field", "used", "complaint"),
    [
        (
            {"batch_size": "many"},
            "batch_size",
            16,
            "batch_size is 'many'. A whole number is needed. 16 is used instead.",
        ),
        ({"batch_size": "-4"}, "batch_size", 16, "It must be at least 1."),
        ({"context_length": "9" * 19}, "context_length", 8192, "It can be at most 2,147,483,647."),
        ({"tensor_parallel": "2.5"}, "tensor_parallel", 1, "A whole number is needed. 1 is used instead."),
        ({"accelerator": "h1000"}, "accelerator", "h100-sxm5-80gb", 'accelerator "h1000" is not in the catalog.'),
        ({"weights": "zzz"}, "weights", "auto", 'weights "zzz" is not a precision'),
        ({"kv_dtype": "fp7"}, "kv_dtype", "auto", 'kv_dtype "fp7" is not a cache format'),
        ({"kv_dtype.k": "fp8"}, "kv_dtype", "auto", "kv_dtype"),
        ({"kv_dtype": "fp8", "kv_dtype.k": "fp8"}, "kv_dtype", "fp8", None),
        ({"engine": "ollama"}, "engine", "vllm", "engine is 'ollama'."),
        ({"memory_fraction": "nan"}, "memory_fraction", None, "memory_fraction is 'nan'."),
        ({"expert_parallel": "perhaps"}, "expert_parallel", False, "True or false is needed. It is left out."),
        ({"model": ""}, "model", ARRIVAL["model"], "model is ''."),
    ],
)
def test_what_is_not_understood_is_named_and_the_rest_kept(
    query: dict[str, str], field: str, used: object, complaint: str | None
) -> None:
    link = read_query({"shared_prefix_tokens": "64", **query})
    assert link.values[field] == used
    assert link.values["shared_prefix_tokens"] == 64
    assert len(link.complaints) == (complaint is not None)
    assert complaint is None or complaint in link.complaints[0]


def test_unknown_parameters_are_named_shortly() -> None:
    link = read_query({"foo" * 1000: "1", "model.path": "x"})
    assert all(len(complaint) < 130 for complaint in link.complaints)
    assert link.values["model"] == ARRIVAL["model"]


@given(st.dictionaries(st.sampled_from([*FIELDS, "units", "x", "lora.rank", "kv_dtype.k", "kv_dtype.k.v"]), st.text()))
def test_no_address_raises(query: dict[str, str]) -> None:
    make_scenario(read_query(query).values | {"shared_prefix_tokens": 0})
