"""The sentences of Live about one measured run."""

from components.format import BYTES_IN, counted, scaled, three_figures
from components.wording import ICONS
from live.prediction import Growth, Predicted, Times, growth_of, held_ratio, residuals, times_of, weights_equal_cache
from live.receipts import Device, Receipt, Run

DTYPES = {"bf16": "BF16", "fp16": "FP16", "fp32": "FP32"}
CACHES = {"dynamic": "DynamicCache", "static": "StaticCache"}


def run_line(receipt: Receipt, run: Run, name: str) -> str:
    """Everything the run was set to, in one line."""
    settings = run.settings
    return " · ".join(
        [
            name,
            DTYPES[settings.dtype],
            f"transformers {receipt.versions.get('transformers', '?')} {CACHES[settings.cache]}",
            f"recorded {receipt.recorded} on {receipt.device.name}",
        ]
    )


def verdict(run: Run, predicted: Predicted) -> str:
    """The headline: whether measured is predicted, or where the run ended."""
    if run.finding and run.finding.kind == "out_of_memory":
        return f"{ICONS['short']} {run.finding.message.removesuffix('.')}"
    if not run.steps.tokens:
        return f"{ICONS['tight']} Nothing was measured"
    off = [residual for residual in residuals(run, predicted) if residual]
    steps = len(run.steps.tokens)
    if off:
        worst = max(off, key=abs)
        where = f"{len(off):,} of {counted(steps, 'step')}"
        by = f"{worst:+,}".replace("-", "−")
        return f"{ICONS['tight']} Measured differs from predicted at {where}, by {by} B at most"
    every = "at the one step" if steps == 1 else f"at every one of {steps:,} steps"
    return f"{ICONS['fits']} Measured equals predicted {every}: {run.steps.cache[-1]:,} bytes"


def how_sure(run: Run, predicted: Predicted, device: Device) -> str:
    """Slope and fixed part, what the allocator does, and what this device cannot tell."""
    sentences = []
    if run.finding and run.finding.kind != "out_of_memory":
        sentences.append(run.finding.message)
    if run.finding and run.finding.kind == "out_of_memory" and run.steps.tokens:
        off = any(residuals(run, predicted))
        sentences.append(
            "Until then measured differed from predicted." if off else "Until then measured equalled predicted."
        )
    if growth := growth_of(run, predicted):
        sentences.append(slope_sentence(growth, run.settings.batch))
    if ratio := held_ratio(run):
        why = "each step concatenates" if run.settings.cache == "dynamic" else "blocks are kept for reuse"
        sentences.append(f"The allocator holds {ratio:,.1f}× the cache because {why}.")
    sentences.append(driver_sentence(run, device))
    sentences.append(device_sentence(device))
    return " ".join(sentence for sentence in sentences if sentence)


def slope_sentence(growth: Growth, batch: int) -> str:
    """Of one request. Slope and intercept with the 95 % interval of the fit."""
    each = " each" if batch > 1 else ""
    slope, half = round(growth.measured.slope / batch), growth.measured.slope_half / batch
    fixed = round(growth.measured.intercept / batch)
    return (
        f"From {growth.first:,} to {growth.last:,} tokens{each}: {per_token(slope)} measured (± {half:,.0f} B), "
        f"{per_token(growth.slope // batch)} predicted; fixed part {signed(fixed)} measured, "
        f"{signed(growth.intercept // batch)} predicted."
    )


def per_token(size: int) -> str:
    return f"{signed(size)} per token"


def signed(size: int) -> str:
    return f"−{scaled(-size, 'GiB')}" if size < 0 else scaled(size, "GiB")


def driver_sentence(run: Run, device: Device) -> str:
    """What the driver counts at the end, and what torch still held once everything was released."""
    last = run.steps.driver[-1] if run.steps.driver else None
    if device.kind == "cpu" or last is None or run.before.driver is None:
        return ""
    more = signed(last - run.before.driver)
    left = run.released.allocated if run.released else None
    after = f" Afterwards torch held {scaled(left, 'GiB')}." if left is not None else ""
    return f"The driver counts {size(last)} in use at the end, {more} more than before the first token.{after}"


def device_sentence(device: Device) -> str:
    if device.kind == "cpu":
        return "Measured on a CPU: the tensors' bytes are exact there, but allocator figures and times are not a GPU's."
    if device.kind == "mps":
        return "Measured on an Apple GPU: tensor bytes are exact; its allocator reports no reserved blocks."
    return ""


def times_sentence(run: Run, predicted: Predicted) -> str:
    """Recomputation against the cache, and from where reading the cache bounds a step."""
    times, parts = times_of(run), []
    if run.recompute and run.recompute.seconds and times and times.each:
        last = run.recompute.seconds[-1]
        parts.append(
            f"At {run.recompute.tokens[-1]:,} tokens a token takes {milliseconds(last)} without the cache and "
            f"{milliseconds(times.each)} with it: recomputing every token makes the whole answer O(N²)."
        )
    if times:
        parts.append(_bound(times, run))
    equal = weights_equal_cache(run, predicted)
    if equal is not None:
        parts.append(f"By bytes, a step reads as much cache as weights from {equal:,} tokens on.")
    return " ".join(part for part in parts if part)


def _bound(times: Times, run: Run) -> str:
    where = times.reading_bound_from
    if times.line is None:
        return ""
    if where is None:
        return "Within this run the time per token does not rise measurably with the cache."
    beyond = ", beyond this run" if where > run.steps.tokens[-1] else ""
    return f"By the fitted times, reading the cache outweighs the rest of a step from {where:,} tokens on{beyond}."


def milliseconds(seconds: float) -> str:
    value = seconds * 1000
    return f"{value:,.0f} ms" if value >= 99.5 else f"{value:,.1f} ms" if value >= 9.95 else f"{value:,.2f} ms"


def size(number: int) -> str:
    """17.0 MiB: three figures in the largest binary unit that gives at least 1."""
    for unit in ("GiB", "MiB", "KiB"):
        if abs(number) >= BYTES_IN[unit]:
            return f"{three_figures(number / BYTES_IN[unit])} {unit}"
    return f"{number:,} B"


def padding_sentence(run: Run) -> str:
    padding = run.padding
    assert padding is not None
    wasted = padding.padded_bytes - padding.alone_bytes
    share = f"{wasted / padding.padded_bytes:.0%}" if padding.padded_bytes else "0%"
    longer = padding.padded_seconds / padding.even_seconds if padding.even_seconds else 1
    return (
        f"A batch of {len(padding.lengths)} prompts of {max(padding.lengths):,} to {min(padding.lengths):,} tokens, "
        f"padded to the longest, keeps {size(padding.padded_bytes)} of cache, {share} of it for padding. "
        f"Its prefill takes {milliseconds(padding.padded_seconds)}, {longer:,.1f}× that of as many real tokens in "
        "equal prompts."
    )
