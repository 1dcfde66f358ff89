"""Recurrent layers: bytes of a state, and the attention block size that lets both share one pool (section 2.4)."""

from dataclasses import dataclass
from math import lcm

from model_catalog.spec import Recurrent
from sizing.engines.vllm.rules import Rules

LATENT_BLOCKS = 128  # hybrids with latent attention take at least these
GDN_CHECKPOINT = 64  # FlashInfer's gated delta kernel, which SM90 selects
FLASH_KDA_CHECKPOINT = 16
FLASH_KDA = ("kimi_k3",)


@dataclass(frozen=True, slots=True)
class StateMode:
    """How a scenario keeps states. `aligned`: prefix caching keeps one at block borders; `spec`: draft tokens."""

    aligned: bool
    checkpoint_blocks: int
    alignment: int
    spec: int

    @property
    def blocks(self) -> int:
        """Blocks that a sequence's state takes in each group."""
        return (2 if self.aligned else 1) + self.spec + (self.checkpoint_blocks if self.aligned else 0)

    @property
    def settled(self) -> int:
        """Blocks in use between two borders."""
        return 1 + self.spec


def state_mode(
    kinds: frozenset[str], model_type: str, rules: Rules, capability: tuple[int, int], prefix_caching: bool, spec: int
) -> StateMode:
    """Checkpoints: Mamba 2, GDN where FlashInfer runs it (SM90), FlashKDA; others have none."""
    if not prefix_caching:
        return StateMode(False, 0, 1, spec)
    flash_infer = "gated_delta" in kinds and capability[0] == 9 and "gated_delta" in rules.checkpoints
    flash_kda = model_type in FLASH_KDA and "kda" in rules.checkpoints
    mamba = "mamba2" in kinds and "mamba2" in rules.checkpoints
    alignment = GDN_CHECKPOINT if flash_infer else FLASH_KDA_CHECKPOINT if flash_kda else 1
    return StateMode(True, int(mamba or flash_infer or flash_kda), alignment, spec)


def state_bytes(mixer: Recurrent, element: tuple[int, int], spec: int) -> int:
    """One rank's state of one layer: kernel − 1 inputs, more by the draft's tokens, and the recurrent part."""
    columns = mixer.conv_kernel - 1 + spec if mixer.conv_channels else 0
    return mixer.conv_channels * columns * element[0] + mixer.state_elements * element[1]


def aligned_block(state: int, row: int, block: int, smallest: int, latent: bool, alignment: int) -> int:
    """Tokens a block: the least multiple whose attention page of `row` bytes a token holds a whole state."""
    step = lcm(max(smallest, block, LATENT_BLOCKS if latent else 0), alignment)
    return -(-(step * -(-state // (step * row))) // smallest) * smallest
