import pytest

from model_catalog.spec import Attention, LatentAttention, Recurrent
from sizing.placement import Placement, PlacementError, shard_mixer, stage_sizes


@pytest.mark.parametrize(
    ("layers", "stages", "sizes"),
    [
        (61, 4, [15, 15, 16, 15]),
        (62, 4, [15, 16, 16, 15]),
        (80, 3, [27, 27, 26]),
        (36, 8, [4, 4, 4, 5, 5, 5, 5, 4]),
    ],
)
def test_the_remainder_goes_to_the_last_stages_but_the_very_last(layers: int, stages: int, sizes: list[int]) -> None:
    """vLLM distributed/utils.py get_pp_indices."""
    assert stage_sizes(layers, stages) == sizes


def test_more_stages_than_layers_is_refused() -> None:
    with pytest.raises(PlacementError, match="32 layers cannot be split over 64"):
        stage_sizes(32, 64)


def test_llama_8b_on_16_ranks_keeps_a_copy_of_one_kv_head_on_each() -> None:
    """Twice the minimum in all: 16 ranks × 1 head for 8 heads."""
    mixer = shard_mixer(Attention(heads=32, kv_heads=8, head_dim=128, value_dim=128), 16)
    assert isinstance(mixer, Attention)
    assert (mixer.heads, mixer.kv_heads) == (2, 1)


def test_every_rank_holds_the_whole_latent() -> None:
    latent = LatentAttention(heads=128, latent_dim=512, rope_dim=64, nope_dim=128, value_dim=128)
    shared = shard_mixer(latent, 8)
    assert isinstance(shared, LatentAttention)
    assert (shared.heads, shared.latent_dim, shared.rope_dim) == (16, 512, 64)


def test_mamba_groups_that_do_not_divide_are_replicated() -> None:
    """Nemotron-H with 8 groups on 16 ranks: one group of B and C on each (vLLM extra_groups_for_head_shards)."""
    mamba = Recurrent(
        kind="mamba2",
        heads=128,
        state_elements=128 * 64 * 128,
        conv_channels=8192 + 2 * 8 * 128,
        conv_kernel=4,
        groups=8,
        group_width=2 * 128,
    )
    shared = shard_mixer(mamba, 16)
    assert isinstance(shared, Recurrent)
    assert shared.conv_channels == 8192 // 16 + 2 * 128
    assert shared.state_elements == 8 * 64 * 128


def test_replicas_of_data_parallel_attention_lie_inside_the_tensor_parallel_ranks() -> None:
    """SGLang --tp 8 --dp 8 --enable-dp-attention is 8 GPUs, each with all heads of its own requests."""
    inside = Placement(tensor_parallel=8, data_parallel=8, dp_attention=True)
    assert (inside.gpus, inside.ranks_per_replica, inside.expert_ranks) == (8, 1, 8)
    beside = Placement(tensor_parallel=8, data_parallel=8)
    assert (beside.gpus, beside.ranks_per_replica, beside.expert_ranks) == (64, 8, 64)
