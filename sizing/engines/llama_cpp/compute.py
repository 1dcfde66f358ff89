"""The device's compute buffer: the largest moment of the graph for one physical batch (src/llama-graph.cpp).

Masks + the largest of: attention scores without flash attention, the feed-forward, and the logits. Printed and
predicted MiB of receipts, without flash attention l048 560.00 and 560.0, l002 1080.00 and 1080.0; with it l028 304.75
and 308.8, l013 353.00 and 352.0, l037 135 and 132.5, l001 613.01 and 565.0, l023 640.52 and 558.3, l045 (drafting)
488.0 and 398.0. How the allocator reuses freed blocks is not modelled, hence the grade calibrated: from 18 % low to
2 % high.

Two things make it larger. GPUs that each hold whole layers work as a pipeline, with four copies of a batch's inputs
(ggml-backend.cpp GGML_SCHED_MAX_COPIES; Command-R over two, 672.01 printed and 672.0, ggml-org/llama.cpp 6122). And of
what stays on the host, the first GPU takes one matrix after the other for batches of 32 tokens or more (op_offload;
ggml_backend_sched starts a new split at each, so that they follow upon each other in the same place).
"""

from dataclasses import dataclass

from model_catalog.spec import Attention, CompressedAttention, LatentAttention, ModelSpec
from sizing.arrays import Tokens, larger, smaller, where
from sizing.engines.llama_cpp.cells import FULL, Law, Server

FLOAT = 4
INPUTS = 3  # the token, its position and the row of its output
LEAST_FETCHED = 32  # tokens of a batch for which weights are fetched from the host
PIPELINED = 4  # copies of the inputs
MASK_BYTES, PLAIN_MASK_BYTES = 2, 4  # of a cell and token, with and without flash attention


@dataclass(frozen=True, slots=True)
class Widths:
    """Elements of a token: the residual, the feed-forward (of all active experts), the queries, the vocabulary.

    `windows` are the laws of the caches that have a mask of their own, `masks` how many kinds of layers have one.
    """

    hidden: int
    feed_forward: int
    heads: int
    queries: int
    vocabulary: int
    windows: tuple[Law, ...]
    masks: int


@dataclass(frozen=True, slots=True)
class Compute:
    """Bytes of the compute buffer of a device; with `output` it computes the logits, with `attention` attention.

    `copies` of the inputs are kept. `staged`: bytes of the largest matrix that is fetched from the host.
    """

    widths: Widths
    server: Server
    output: bool
    attention: bool = True
    copies: int = 1
    staged: int = 0

    def bytes(self, tokens: Tokens, sequences: Tokens) -> Tokens:
        """`sequences` of `tokens` tokens; numbers or arrays."""
        batch = smaller(self.server.context(tokens, sequences), self.server.ubatch)
        peak = self._peak(tokens, sequences, batch)
        if self.copies > 1:
            peak = peak + self.copies * self.widths.hidden * batch * FLOAT
        return peak + self.copies * self._masks(tokens, sequences, batch) if self.attention else peak

    def _masks(self, tokens: Tokens, sequences: Tokens, batch: Tokens) -> Tokens:
        cells = self.server.cells(FULL, tokens, sequences)
        for window in self.widths.windows:
            cells = cells + self.server.cells(window, tokens, sequences)
        return cells * batch * (MASK_BYTES if self.server.flash else PLAIN_MASK_BYTES)

    def _peak(self, tokens: Tokens, sequences: Tokens, batch: Tokens) -> Tokens:
        widths = self.widths
        peak = (3 * widths.feed_forward + 4 * widths.hidden) * batch * FLOAT
        peak = peak + where(batch >= LEAST_FETCHED, self.staged, 0)
        if self.attention and not self.server.flash:
            scores = widths.heads * self.server.cells(FULL, tokens, sequences)
            peak = larger(peak, (scores + 2 * (widths.queries + widths.hidden)) * batch * FLOAT)
        if not self.output:
            return peak
        rows = smaller(batch, self.server.slots_for(sequences)) if self.server.rules.few_outputs else batch
        return larger(peak, (widths.vocabulary * rows + 2 * widths.hidden * batch) * FLOAT)


def host_bytes(compute: Compute, tokens: int, sequences: int) -> int:
    """The pinned buffer of inputs on the host: masks in f32, embeddings of the batch, and its tokens, places and rows.

    Known for builds until April 2026 (receipts l001, l002, l004, l007, l013, l014, l019, l020, l048).
    """
    server, widths = compute.server, compute.widths
    batch = smaller(server.context(tokens, sequences), server.ubatch)
    cells = server.cells(FULL, tokens, sequences) * (widths.masks - len(widths.windows))
    for window in widths.windows:
        cells = cells + server.cells(window, tokens, sequences)
    return int((cells + widths.hidden + INPUTS) * batch * FLOAT)


def widths_of(spec: ModelSpec, windows: tuple[Law, ...]) -> Widths:
    layers = [run.layer for run in spec.layers]
    mixers = [m for layer in layers for m in layer.mixers]
    attention = [m for m in mixers if isinstance(m, Attention | LatentAttention | CompressedAttention)]
    forward = [layer.feed_forward for layer in layers if layer.feed_forward]
    return Widths(
        hidden=spec.hidden_size,
        feed_forward=max((f.intermediate * max(1, f.top_k) for f in forward), default=0),
        heads=max((m.heads for m in attention), default=0),
        queries=max((_queries(m) for m in attention), default=0),
        vocabulary=spec.vocab_size,
        windows=windows,
        masks=max(1, len({_window(m) for m in attention})),
    )


def _window(mixer: Attention | LatentAttention | CompressedAttention) -> int | None:
    return mixer.window or (mixer.chunk if isinstance(mixer, Attention) else None)


def _queries(mixer: Attention | LatentAttention | CompressedAttention) -> int:
    """Absorbed latent attention has queries as wide as the latent."""
    if isinstance(mixer, LatentAttention):
        return mixer.heads * (mixer.latent_dim + mixer.rope_dim)
    return mixer.heads * mixer.head_dim
