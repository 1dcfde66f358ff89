"""The lines of the start-up log that name pools, in the wording of the release. SGLang's GB are GiB."""

from sizing.engines.sglang.cache import Stage
from sizing.engines.sglang.compressed import compressed_line
from sizing.engines.sglang.defaults import MAX_PREFILL_TOKENS
from sizing.engines.sglang.layers import Sums
from sizing.engines.sglang.rows import Row
from sizing.engines.sglang.rules import Rules
from sizing.engines.sglang.settings import Settings
from sizing.engines.sglang.sizes import Sizes
from sizing.units import GIB

TORCH = {
    "bf16": "torch.bfloat16",
    "fp16": "torch.float16",
    "fp8": "torch.float8_e4m3fn",
    "fp8_ds_mla": "torch.float8_e4m3fn",
    "mxfp8": "torch.float8_e4m3fn",
    "fp4_e2m1": "torch.float4_e2m1fn_x2",
    "nvfp4": "torch.float4_e2m1fn_x2",
}


def lines_of(sums: Sums, stage: Stage, sizes: Sizes, settings: Settings, context: int) -> tuple[str, ...]:
    """Of the first stage's rank. Pools hold a page more than they give out, which is in the sizes printed."""
    lines = [_states(sums, sizes.slots)] if stage.slots else []
    if stage.window_page and sums.window_layers:
        lines += _two_pools(sums, sizes, settings)
    elif stage.window_page:
        lines.append(compressed_line(sizes.full, sizes.window, settings))
    elif sums.full_layers:
        lines.append(_pool(sums.full, sizes.full, settings))
    return (*lines, _summary(sizes, settings, context))


def gigabytes(size: int) -> str:
    return f"{size / GIB:.2f}"


def pool_line(row: Row, tokens: int, page: int, dtype: str, rules: Rules) -> str:
    """One pool of `tokens` tokens, with the padding page."""
    rows = tokens + page
    names = [f"dtype: {TORCH[dtype]}"] if rules.log_dtype else []
    names += [f"#tokens: {tokens}"] if rules.log_tokens else []
    if row.shown_value:
        names += [f"K size: {gigabytes(row.shown_key * rows)} GB", f"V size: {gigabytes(row.shown_value * rows)} GB"]
    else:
        names.append(f"KV size: {gigabytes(row.shown_key * rows)} GB")
    return f"KV Cache is allocated. {', '.join(names)}{'' if rules.log_tokens else '.'}"


def _pool(row: Row, tokens: int, settings: Settings) -> str:
    return pool_line(row, tokens, settings.page, settings.format, settings.rules)


def _two_pools(sums: Sums, sizes: Sizes, settings: Settings) -> list[str]:
    page = settings.page
    shown = [row.shown_key + row.shown_value for row in (sums.full, sums.window)]
    used = shown[0] * (sizes.full + page) + shown[1] * (sizes.window + page)
    return [
        f"Use sliding window memory pool. full_layer_tokens={sizes.full}, swa_layer_tokens={sizes.window}",
        _pool(sums.window, sizes.window, settings),
        _pool(sums.full, sizes.full, settings),
        f"SWAKVPool mem usage: {gigabytes(used)} GB, swa size: {sizes.window}, full size: {sizes.full}",
    ]


def _states(sums: Sums, slots: int) -> str:
    conv, recurrent = sums.conv * (slots + 1), sums.recurrent * (slots + 1)
    return (
        f"Mamba Cache is allocated. max_mamba_cache_size: {slots}, "
        f"conv_state size: {gigabytes(conv)}GB, ssm_state size: {gigabytes(recurrent)}GB"
    )


def _summary(sizes: Sizes, settings: Settings, context: int) -> str:
    running = sizes.running + settings.rules.one_more_request
    return (
        f"max_total_num_tokens={sizes.full}, chunked_prefill_size={settings.chunk_each}, "
        f"max_prefill_tokens={MAX_PREFILL_TOKENS}, max_running_requests={running}, context_len={context}"
    )
