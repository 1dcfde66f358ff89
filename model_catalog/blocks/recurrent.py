"""Recurrent mixers: what a sequence leaves in their state, and the tensors that make it.

Names follow transformers 5.24.0. Fused input projections are listed as the parts that tensor parallelism divides apart.
"""

from dataclasses import dataclass

from model_catalog.blocks.linear import linear, norm
from model_catalog.spec import Recurrent
from model_catalog.tensors import Shard, Tensor, TensorClass

MIXER = TensorClass.MIXER


def causal_conv(name: str, channels: int, kernel: int, *, bias: bool, units: int = 0) -> tuple[Tensor, ...]:
    """A depthwise convolution over time: weight (channels, 1, kernel) and, where it has one, bias (channels,)."""
    weight = Tensor(f"{name}.weight", TensorClass.SMALL, (channels, 1, kernel), Shard.COLUMN, units=units)
    return (weight, *per_unit(f"{name}.bias", channels, units=units)) if bias else (weight,)


def per_unit(name: str, *shape: int, units: int = 0, dtype: str | None = None) -> tuple[Tensor, ...]:
    """A tensor that no precision quantises, one row for each channel or head."""
    return (Tensor(name, TensorClass.SMALL, shape, Shard.COLUMN, units=units, dtype=dtype),)


@dataclass(frozen=True, kw_only=True)
class Mamba1:
    """Selective state space with a state of `state` numbers per channel. `heads` > 1: projections per head (Zamba)."""

    hidden: int
    channels: int
    state: int
    step_rank: int
    kernel: int
    conv_bias: bool = True
    bias: bool = False
    heads: int = 0

    def mixer(self) -> Recurrent:
        return Recurrent(
            kind="mamba1",
            heads=self.heads or self.channels,
            state_elements=self.channels * self.state,
            conv_channels=self.channels,
            conv_kernel=self.kernel,
        )

    def tensors(self, prefix: str) -> tuple[Tensor, ...]:
        shared = (
            *linear(f"{prefix}.in_proj", 2 * self.channels, self.hidden, MIXER, Shard.COLUMN, bias=self.bias),
            *causal_conv(f"{prefix}.conv1d", self.channels, self.kernel, bias=self.conv_bias),
            *per_unit(f"{prefix}.A_log", self.channels, self.state),
            *per_unit(f"{prefix}.D", self.channels),
            *linear(f"{prefix}.out_proj", self.hidden, self.channels, MIXER, Shard.ROW, bias=self.bias),
        )
        return (*shared, *(self._projections_per_head(prefix) if self.heads else self._projections(prefix)))

    def _projections(self, prefix: str) -> tuple[Tensor, ...]:
        into = self.step_rank + 2 * self.state
        return (
            *linear(f"{prefix}.x_proj", into, self.channels, MIXER, Shard.ROW),
            *linear(f"{prefix}.dt_proj", self.channels, self.step_rank, MIXER, Shard.COLUMN, bias=True),
        )

    def _projections_per_head(self, prefix: str) -> tuple[Tensor, ...]:
        width, into = self.channels // self.heads, self.step_rank + 2 * self.state
        return (
            Tensor(f"{prefix}.x_proj_weight", MIXER, (self.heads, into, width), Shard.COLUMN),
            Tensor(f"{prefix}.dt_proj_weight", MIXER, (self.heads, width, self.step_rank), Shard.COLUMN),
            *per_unit(f"{prefix}.dt_proj_bias", self.heads, width),
        )


@dataclass(frozen=True, kw_only=True)
class Mamba2:
    """State space duality: `heads` states of head_dim × state; B and C are shared by the heads of a group.

    `channels` is the inner width, heads × head_dim in every published model.
    """

    hidden: int
    channels: int
    heads: int
    head_dim: int
    state: int
    groups: int
    kernel: int
    conv_bias: bool = True
    bias: bool = False
    out_bias: bool | None = None  # None: as `bias`
    norm: bool = True
    state_dtype: str | None = None

    def mixer(self) -> Recurrent:
        return Recurrent(
            kind="mamba2",
            heads=self.heads,
            state_elements=self.heads * self.head_dim * self.state,
            conv_channels=self.channels + 2 * self.groups * self.state,
            conv_kernel=self.kernel,
            groups=self.groups,
            group_width=2 * self.state,
            state_dtype=self.state_dtype,
        )

    def tensors(self, prefix: str) -> tuple[Tensor, ...]:
        out_bias = self.bias if self.out_bias is None else self.out_bias
        return (
            *self._into(f"{prefix}.in_proj"),
            *causal_conv(f"{prefix}.conv1d.x", self.channels, self.kernel, bias=self.conv_bias, units=self.heads),
            *causal_conv(
                f"{prefix}.conv1d.bc",
                2 * self.groups * self.state,
                self.kernel,
                bias=self.conv_bias,
                units=self.groups,
            ),
            *(t for name in ("dt_bias", "A_log", "D") for t in per_unit(f"{prefix}.{name}", self.heads)),
            *(per_unit(f"{prefix}.norm.weight", self.channels, units=self.heads) if self.norm else ()),
            *linear(f"{prefix}.out_proj", self.hidden, self.channels, MIXER, Shard.ROW, bias=out_bias),
        )

    def _into(self, name: str) -> tuple[Tensor, ...]:
        parts = (
            ("zx", 2 * self.channels, self.heads),
            ("bc", 2 * self.groups * self.state, self.groups),
            ("dt", self.heads, self.heads),
        )
        made = (
            linear(f"{name}.{part}", out, self.hidden, MIXER, Shard.COLUMN, bias=self.bias, units=units)
            for part, out, units in parts
        )
        return tuple(tensor for tensors in made for tensor in tensors)


@dataclass(frozen=True, kw_only=True)
class GatedDelta:
    """Gated delta rule (Gated DeltaNet): a key_dim × value_dim state for each value head."""

    hidden: int
    key_heads: int
    value_heads: int
    key_dim: int
    value_dim: int
    kernel: int
    state_dtype: str | None = None

    def mixer(self) -> Recurrent:
        return Recurrent(
            kind="gated_delta",
            heads=self.value_heads,
            state_elements=self.value_heads * self.key_dim * self.value_dim,
            conv_channels=2 * self.key_heads * self.key_dim + self.value_heads * self.value_dim,
            conv_kernel=self.kernel,
            state_dtype=self.state_dtype,
        )

    def tensors(self, prefix: str = "linear_attn") -> tuple[Tensor, ...]:
        keys, values = self.key_heads * self.key_dim, self.value_heads * self.value_dim
        parts = (
            ("q", keys, self.key_heads),
            ("k", keys, self.key_heads),
            ("v", values, self.value_heads),
            ("z", values, self.value_heads),
            ("b", self.value_heads, self.value_heads),
            ("a", self.value_heads, self.value_heads),
        )
        into = (
            linear(f"{prefix}.in_proj_{part}", out, self.hidden, MIXER, Shard.COLUMN, units=units)
            for part, out, units in parts
        )
        return (
            *(tensor for tensors in into for tensor in tensors),
            *causal_conv(f"{prefix}.conv1d", 2 * keys + values, self.kernel, bias=False),
            *per_unit(f"{prefix}.A_log", self.value_heads),
            *per_unit(f"{prefix}.dt_bias", self.value_heads),
            *norm(f"{prefix}.norm", self.value_dim),
            *linear(f"{prefix}.out_proj", self.hidden, values, MIXER, Shard.ROW, units=self.value_heads),
        )


@dataclass(frozen=True, kw_only=True)
class KimiDelta:
    """Kimi delta attention (KDA): the gated delta rule with a decay for every channel, a head_dim² state per head.

    Decay and output gate go through head_dim dimensions, or are one full linear layer. The checkpoints keep the decay's
    A_log and dt_bias in float32 (moonshotai/Kimi-Linear-48B-A3B: 82,560 float32 elements in 20 layers).
    """

    hidden: int
    heads: int
    head_dim: int
    kernel: int
    low_rank_decay: bool = True
    low_rank_gate: bool = True

    def mixer(self) -> Recurrent:
        return Recurrent(
            kind="kda",
            heads=self.heads,
            state_elements=self.heads * self.head_dim**2,
            conv_channels=3 * self.heads * self.head_dim,
            conv_kernel=self.kernel,
        )

    def tensors(self, prefix: str = "self_attn") -> tuple[Tensor, ...]:
        width, heads = self.heads * self.head_dim, self.heads
        return (
            *(t for part in "qkv" for t in self._column(f"{prefix}.{part}_proj", width, self.hidden)),
            *causal_conv(f"{prefix}.conv1d", 3 * width, self.kernel, bias=False),
            *self._gate(f"{prefix}.forget_gate.f", low_rank=self.low_rank_decay),
            *per_unit(f"{prefix}.forget_gate.A_log", heads, dtype="fp32"),
            *per_unit(f"{prefix}.forget_gate.dt_bias", width, dtype="fp32"),
            *self._column(f"{prefix}.b_proj", heads, self.hidden),
            *self._gate(f"{prefix}.g", low_rank=self.low_rank_gate),
            *norm(f"{prefix}.o_norm", self.head_dim),
            *linear(f"{prefix}.o_proj", self.hidden, width, MIXER, Shard.ROW, units=heads),
        )

    def _column(self, name: str, out: int, into: int) -> tuple[Tensor, ...]:
        return linear(name, out, into, MIXER, Shard.COLUMN, units=self.heads)

    def _gate(self, name: str, *, low_rank: bool) -> tuple[Tensor, ...]:
        width = self.heads * self.head_dim
        if not low_rank:
            return self._column(f"{name}_proj", width, self.hidden)
        return (
            *linear(f"{name}_a_proj", self.head_dim, self.hidden, MIXER),
            *self._column(f"{name}_b_proj", width, self.head_dim),
        )


def short_conv(hidden: int, kernel: int) -> Recurrent:
    """A gated convolution over the last `kernel` tokens and no recurrent state (LFM2)."""
    return Recurrent(kind="short_conv", heads=hidden, state_elements=0, conv_channels=hidden, conv_kernel=kernel)


def short_conv_tensors(hidden: int, kernel: int, *, bias: bool, prefix: str = "conv") -> tuple[Tensor, ...]:
    return (
        *linear(f"{prefix}.in_proj", 3 * hidden, hidden, MIXER, Shard.COLUMN, bias=bias),
        *causal_conv(f"{prefix}.conv", hidden, kernel, bias=bias),
        *linear(f"{prefix}.out_proj", hidden, hidden, MIXER, Shard.ROW, bias=bias),
    )


def lightning(heads: int, head_dim: int) -> Recurrent:
    """Linear attention with a fixed decay per head: a head_dim² state, no convolution (MiniMax-Text-01)."""
    return Recurrent(kind="lightning", heads=heads, state_elements=heads * head_dim**2)
