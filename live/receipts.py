"""The receipt of a live run: hardware, versions, scenario and series, as JSON that can be saved, loaded and compared.

What is loaded may come from anywhere, so every field is checked and every list is bounded. Predictions are not stored:
they are worked out from the config when the receipt is shown.
"""

import json
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

RECORDED = Path(__file__).parent / "recorded"
LONGEST_TEXT = 2_000_000
MOST_STEPS = 20_000
MOST_RUNS = 32
MOST_TOKENS = 1_000_000
DTYPES = ("bf16", "fp16", "fp32")
ELEMENT_BYTES = {"bf16": 2, "fp16": 2, "fp32": 4}

Text = Annotated[str, Field(max_length=300)]
Bytes = Annotated[int, Field(ge=-(2**62), le=2**62)]
Tokens = Annotated[int, Field(ge=0, le=MOST_TOKENS)]
Seconds = Annotated[float, Field(ge=0, le=1e7, allow_inf_nan=False)]
ByteColumn = Annotated[list[Bytes], Field(max_length=MOST_STEPS)]
MaybeColumn = Annotated[list[Bytes | None], Field(max_length=MOST_STEPS)]
TokenColumn = Annotated[list[Tokens], Field(max_length=MOST_STEPS)]
SecondsColumn = Annotated[list[Seconds], Field(max_length=MOST_STEPS)]
CacheKind = Literal["dynamic", "static"]
DeviceKind = Literal["cuda", "mps", "cpu"]


class ReceiptError(ValueError):
    """The text is not a receipt; the message says what is wrong with it."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Settings(_Part):
    """What a run is asked to do. `family` is a small variant of families.py; without one `model` is a Hub id.

    `memory_limit`: bytes that cache and working memory may take beside the weights; None leaves all that is free.
    """

    family: Text | None = None
    model: Text = ""
    batch: int = Field(default=2, ge=1, le=1024)
    prompt_tokens: int = Field(default=256, ge=1, le=131_072)
    new_tokens: int = Field(default=128, ge=0, le=MOST_STEPS - 1)
    dtype: Literal["bf16", "fp16", "fp32"] = "bf16"
    cache: CacheKind = "dynamic"
    recompute: bool = False
    padding: bool = False
    device: Literal["auto", "cuda", "mps", "cpu"] = "auto"
    memory_limit: int | None = Field(default=None, ge=1, le=2**50)
    seconds_limit: float = Field(default=300, ge=1, le=3600)

    @property
    def max_tokens(self) -> int:
        """Tokens of one sequence at the end of the run."""
        return self.prompt_tokens + self.new_tokens


class Device(_Part):
    kind: DeviceKind
    name: Text
    total_memory: Bytes | None = None


class Reading(_Part):
    """Bytes in use: torch's tensors, torch's blocks, and all that the driver counts (on a CPU: of this process)."""

    allocated: Bytes | None = None
    reserved: Bytes | None = None
    driver: Bytes | None = None


class Steps(_Part):
    """One entry a forward pass: the prefill first, then each decoded token. `tokens` are those of one sequence.

    `cache` counts what the cache's tensors show, `storage` the memory that they keep alive.
    """

    tokens: TokenColumn = []
    cache: ByteColumn = []
    storage: ByteColumn = []
    allocated: MaybeColumn = []
    reserved: MaybeColumn = []
    driver: MaybeColumn = []
    seconds: SecondsColumn = []

    @model_validator(mode="after")
    def _even(self) -> Self:
        if len({len(column) for column in vars(self).values()}) > 1:
            raise ValueError("the columns of steps have different lengths")
        if any(later <= earlier for earlier, later in zip(self.tokens, self.tokens[1:], strict=False)):
            raise ValueError("the tokens of steps do not rise")
        return self

    def add(self, tokens: int, cache: int, storage: int, reading: Reading, seconds: float) -> None:
        self.tokens.append(tokens)
        self.cache.append(cache)
        self.storage.append(storage)
        self.allocated.append(reading.allocated)
        self.reserved.append(reading.reserved)
        self.driver.append(reading.driver)
        self.seconds.append(round(seconds, 7))


class Recompute(_Part):
    """Seconds of one token without a cache: the whole sequence of `tokens` tokens goes through the model again."""

    tokens: TokenColumn = []
    seconds: SecondsColumn = []

    @model_validator(mode="after")
    def _even(self) -> Self:
        if len(self.tokens) != len(self.seconds):
            raise ValueError("the columns of recompute have different lengths")
        return self


class Padding(_Part):
    """A batch of mixed `lengths`, padded to the longest, and what it takes without padding.

    `alone_bytes`: the sum over the prompts run one by one. `even_seconds`: a batch of the same number of real tokens
    in which all prompts are equally long.
    """

    lengths: Annotated[list[Tokens], Field(min_length=1, max_length=1024)]
    padded_bytes: Bytes
    alone_bytes: Bytes
    padded_seconds: Seconds
    even_seconds: Seconds


class Finding(_Part):
    """Why a run ended before its last token: where it was, in words."""

    kind: Literal["out_of_memory", "stopped", "time_limit"]
    tokens: Tokens | None = None
    message: Text


class Run(_Part):
    """One measured run. `before` is read with the weights loaded and no cache, `released` when all was freed."""

    settings: Settings
    config: dict[str, Any]
    parameters: int = Field(ge=0, le=2**50)
    weight_bytes: Bytes
    before: Reading = Reading()
    steps: Steps = Steps()
    recompute: Recompute | None = None
    padding: Padding | None = None
    finding: Finding | None = None
    released: Reading | None = None


class Receipt(_Part):
    """What one machine measured."""

    format: Literal["kv-atlas-live-1"] = "kv-atlas-live-1"
    recorded: Text
    device: Device
    versions: dict[Text, Text]
    note: Text | None = None
    runs: Annotated[list[Run], Field(min_length=1, max_length=MOST_RUNS)]


def read_receipt(text: str) -> Receipt:
    """The receipt in a JSON text. Raises ReceiptError with a sentence that names the field at fault."""
    if len(text) > LONGEST_TEXT:
        raise ReceiptError(f"The file is longer than {LONGEST_TEXT:,} characters; no receipt is.")
    try:
        return Receipt.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        message = str(first["msg"]).removeprefix("Value error, ")
        raise ReceiptError(f"This is not a receipt of a live run: {f'{where}: ' if where else ''}{message}.") from None


def write_receipt(receipt: Receipt) -> str:
    """JSON with one run a line."""
    data = receipt.model_dump(mode="json", exclude_none=True)
    runs = ",\n".join(json.dumps(run, separators=(",", ":")) for run in data.pop("runs"))
    head = json.dumps(data, indent=1)[:-2]
    return f'{head},\n "runs": [\n{runs}\n]}}\n'


def recorded_receipts() -> dict[str, Receipt]:
    """The receipts that are committed, by file name, GPUs before CPUs."""
    receipts = {path.stem: read_receipt(path.read_text(encoding="utf-8")) for path in sorted(RECORDED.glob("*.json"))}
    return dict(sorted(receipts.items(), key=lambda item: item[1].device.kind == "cpu"))
