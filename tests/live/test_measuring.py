"""Really run on the CPU: the cache tensors of each family hold the predicted bytes at every step."""

from collections.abc import Callable, Iterator

import pytest

from live.receipts import Run, Settings

torch = pytest.importorskip("torch", reason="torch is not installed; requirements-live.txt has it")
pytest.importorskip("transformers", reason="transformers is not installed; requirements-live.txt has it")

from live import device, measuring  # noqa: E402
from live.loading import CannotLoad  # noqa: E402
from live.measuring import NoRoom, measure  # noqa: E402
from live.prediction import predicted_of, residuals  # noqa: E402

NEW = 4
# Prompts of three families are short; that of the windows reaches 511 tokens, where its layers stop growing.
PROMPTS = {"gqa": 20, "windows": 509, "mla": 20, "gated-delta": 20, "mamba2": 20}


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def ran(should_stop: Callable[[], bool] = lambda: False, **settings: object) -> Run:
    given = {"family": "gqa", "batch": 1, "prompt_tokens": 20, "new_tokens": NEW} | settings
    *_, last = measure(Settings.model_validate(given), should_stop)
    assert last.run is not None
    return last.run


def by_hand(family: str, tokens: int) -> int:
    """One sequence's DynamicCache in bfloat16, from the sizes in the checkpoints' config.json files."""
    match family:
        case "gqa":  # 4 layers, key and value of 8 heads of 128
            return 4 * 2 * 8 * 128 * 2 * tokens
        case "windows":  # 1 KV head of 256; 5 layers keep window − 1 = 511 tokens, 1 layer keeps all
            return 2 * 256 * 2 * (5 * min(tokens, 511) + tokens)
        case "mla":  # 4 layers, latent 512 and rotary key 64
            return 4 * (512 + 64) * 2 * tokens
        case "gated-delta":  # 3 layers: 8,192 channels × 4 columns and 32 × 128 × 128 in float32; 1 with 2 heads of 256
            return 3 * (8192 * 4 * 2 + 32 * 128 * 128 * 4) + 2 * 2 * 256 * 2 * tokens
        case (
            _
        ):  # 3 Mamba layers: (16 × 80 + 2 × 8 × 128) channels × 4 and 16 × 80 × 128 in float32; 1 with 8 heads of 128
            return 3 * ((1280 + 2048) * 4 * 2 + 16 * 80 * 128 * 4) + 2 * 8 * 128 * 2 * tokens


@pytest.mark.parametrize("family", list(PROMPTS))
def test_a_dynamic_cache_has_the_predicted_bytes_at_every_step(family: str) -> None:
    run = ran(family=family, prompt_tokens=PROMPTS[family])
    assert run.finding is None
    assert run.steps.tokens == list(range(PROMPTS[family], PROMPTS[family] + NEW + 1))
    assert run.steps.cache == [by_hand(family, tokens) for tokens in run.steps.tokens]
    assert not any(residuals(run, predicted_of(run)))


@pytest.mark.parametrize("family", list(PROMPTS))
def test_a_static_cache_has_its_bytes_from_the_first_step_on(family: str) -> None:
    run = ran(family=family, prompt_tokens=PROMPTS[family], cache="static", batch=2)
    last = PROMPTS[family] + NEW
    # A static window has 512 tokens, not 511; all other layers have the whole length.
    whole = by_hand(family, last) + (5 * 2 * 256 * 2 if family == "windows" else 0)
    assert run.steps.cache == [2 * whole] * (NEW + 1)
    assert not any(residuals(run, predicted_of(run)))


def test_float32_doubles_the_cache() -> None:
    run = ran(dtype="fp32", new_tokens=1)
    assert run.steps.cache == [2 * by_hand("gqa", 20), 2 * by_hand("gqa", 21)]
    assert run.weight_bytes == 4 * run.parameters


def test_a_slice_keeps_the_prefilled_tensor_alive_until_the_next_token() -> None:
    run = ran(family="windows", prompt_tokens=520, new_tokens=1)
    assert run.steps.storage[0] - run.steps.cache[0] == 5 * 1024 * (520 - 511)


def test_every_position_is_timed_with_and_without_the_cache() -> None:
    run = ran(recompute=True, new_tokens=10)
    assert len(run.steps.seconds) == 11
    assert all(seconds > 0 for seconds in run.steps.seconds)
    assert run.recompute is not None
    assert run.recompute.tokens[0] == 20
    assert run.recompute.tokens[-1] == 30
    assert all(seconds > 0 for seconds in run.recompute.seconds)


def test_padding_is_measured_in_bytes() -> None:
    run = ran(padding=True, prompt_tokens=64, new_tokens=0)
    assert run.padding is not None
    assert run.padding.lengths == [64, 32, 16, 8]
    assert run.padding.padded_bytes == 4 * by_hand("gqa", 64)
    assert run.padding.alone_bytes == by_hand("gqa", 64 + 32 + 16 + 8)


def test_the_same_settings_measure_the_same_bytes() -> None:
    assert ran().steps.cache == ran().steps.cache


def test_stop_ends_a_run_with_what_it_has() -> None:
    looks = iter([False, False, True])
    run = ran(lambda: next(looks), new_tokens=100)
    assert len(run.steps.tokens) == 3
    assert run.finding is not None
    assert (run.finding.kind, run.finding.tokens) == ("stopped", 22)


def test_a_time_limit_ends_a_run_with_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 10_000, 20))
    monkeypatch.setattr(measuring, "monotonic", lambda: next(clock))
    run = ran(new_tokens=500, seconds_limit=100)
    assert run.finding is not None
    assert run.finding.kind == "time_limit"
    assert 0 < len(run.steps.tokens) < 20


def test_out_of_memory_is_a_finding_with_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = measuring._Bench.forward
    calls = iter(range(1000))

    def failing(bench: measuring._Bench, *args: object, **more: object) -> object:
        if next(calls) == 6:  # one to warm up, the prefill, four tokens
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
        return whole(bench, *args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(measuring._Bench, "forward", failing)
    run = ran(new_tokens=50, recompute=True, padding=True)
    assert run.finding is not None
    assert run.finding.kind == "out_of_memory"
    assert run.finding.message == "Out of memory after 24 tokens."
    assert len(run.steps.tokens) == 5
    assert run.recompute is None
    assert not any(residuals(run, predicted_of(run)))


@pytest.mark.parametrize(
    ("error", "memory"),
    [
        (torch.OutOfMemoryError("CUDA out of memory"), True),
        (
            RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes"),
            True,
        ),
        (RuntimeError("MPS backend out of memory"), True),
        (MemoryError(), True),
        (RuntimeError("shapes cannot be multiplied"), False),
        (ValueError("out of memory"), False),
    ],
)
def test_what_counts_as_out_of_memory(error: Exception, memory: bool) -> None:
    assert device.is_out_of_memory(error) is memory


def test_a_run_that_cannot_fit_is_not_started() -> None:
    with pytest.raises(NoRoom, match=r"needs about .* GiB .* are free"):
        ran(batch=1024, prompt_tokens=131_072)


def test_an_unknown_family_is_one_sentence() -> None:
    with pytest.raises(CannotLoad, match='There is no family "rnn"'):
        ran(family="rnn")


@pytest.mark.parametrize("model", ["../etc/passwd", "no spaces allowed", "a/b/c", "https://example.org/model"])
def test_a_wrong_id_is_one_sentence(model: str) -> None:
    with pytest.raises(CannotLoad, match=r"is not a Hugging Face id"):
        ran(family=None, model=model)


def test_no_network_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    def unreachable(*_: object, **__: object) -> None:
        raise ConnectionError("Name or service not known")

    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", unreachable)
    with pytest.raises(CannotLoad, match="The Hub cannot be reached from here"):
        ran(family=None, model="HuggingFaceTB/SmolLM2-135M")


def test_only_safetensors_of_a_bounded_size_are_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub
    from huggingface_hub.hf_api import ModelInfo

    def info(files: list[dict[str, object]]) -> None:
        found = ModelInfo(id="a/b", siblings=files)  # type: ignore[no-untyped-call]
        monkeypatch.setattr(huggingface_hub.HfApi, "model_info", lambda *_, **__: found)

    info([{"rfilename": "pytorch_model.bin", "size": 5}])
    with pytest.raises(CannotLoad, match="no safetensors files"):
        ran(family=None, model="a/b")
    info([{"rfilename": "model.safetensors", "size": 9 * 2**30}])
    with pytest.raises(CannotLoad, match=r"9\.0 GiB of weights; at most 8"):
        ran(family=None, model="a/b")


def test_a_checkpoint_from_the_hub_is_run_as_it_is_stored(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A checkpoint made here, saved as the Hub has it, then fetched from a stand-in."""
    from transformers import LlamaConfig, LlamaForCausalLM

    folder = tmp_path_factory.mktemp("checkpoint")
    small = LlamaConfig(
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=2,
        vocab_size=128,
    )
    LlamaForCausalLM(small).save_pretrained(folder)
    monkeypatch.setattr("live.loading.fetch_checkpoint", lambda model: folder)
    run = ran(family=None, model="someone/small", dtype="bf16")
    assert run.steps.cache == [3 * 2 * 2 * 16 * 2 * tokens for tokens in run.steps.tokens]
    assert not any(residuals(run, predicted_of(run)))
