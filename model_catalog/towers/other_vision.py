"""Vision towers that are one family's own: Llama, Gemma 4, Kimi, MiniMax, Step, Muse."""

from model_catalog.blocks.linear import norm
from model_catalog.blocks.vision import (
    Tensors,
    attention,
    column,
    conv,
    gated_mlp,
    layer,
    mlp,
    norms,
    plain,
    row,
    table,
    tower,
)
from model_catalog.fields import Fields
from model_catalog.spec import Tower
from model_catalog.towers.clip_like import VISION, patch_embedding, scales, sizes
from model_catalog.towers.parts import grid, pair, ratio

ASPECT_RATIOS = 8  # how many arrangements of tiles Mllama knows where the config does not list them
MOST_ASPECT_RATIOS = 4096


def llama4(v: Fields) -> Tower:
    hidden, intermediate, heads = sizes(v)
    first, second = v.whole("projector_input_dim"), v.whole("projector_output_dim")
    outside = (
        *table("class_embedding", hidden),
        *table("positional_embedding_vlm", grid(v) + 1, hidden),
        *patch_embedding(v, bias=False),
        *norm("layernorm_pre", hidden, bias=True),
        *norm("layernorm_post", hidden, bias=True),
        *column("vision_adapter.mlp.fc1", first, intermediate, bias=False),
        *row("vision_adapter.mlp.fc2", second, second, bias=False),
    )
    each = (*norms(hidden), *attention(hidden, heads, head_dim=hidden // heads), *mlp(hidden, intermediate))
    return tower("vision", VISION, "vision_model", outside, (v.layer_count(), each))


def mllama(v: Fields) -> Tower:
    """Llama 3.2 vision: positions for each arrangement of tiles; plain layers, then gated ones."""
    hidden, intermediate, heads = sizes(v)
    tiles, patches = v.whole("max_num_tiles"), grid(v) + 1
    stated = v.items("supported_aspect_ratios", list, most=MOST_ASPECT_RATIOS)
    arrangements = 1 + (ASPECT_RATIOS if stated is None else len(stated))
    outside = (
        *table("class_embedding", hidden),
        *patch_embedding(v, bias=False),
        *table("gated_positional_embedding.gate", 1),
        *table("gated_positional_embedding.embedding", patches, hidden),
        *table("gated_positional_embedding.tile_embedding.weight", arrangements, tiles * patches * hidden),
        *_tile_positions("pre", arrangements, tiles * hidden),
        *_tile_positions("post", arrangements, tiles * hidden),
        *norm("layernorm_pre", hidden, bias=True),
        *norm("layernorm_post", hidden, bias=True),
    )
    each = (*norms(hidden), *attention(hidden, heads, head_dim=hidden // heads, bias=False), *mlp(hidden, intermediate))
    gated = (*each, *table("gate_attn", 1), *table("gate_ffn", 1))
    stacks = (v.layer_count(), each), (v.layer_count("num_global_layers"), gated)
    return tower("vision", VISION, "vision_model", outside, *stacks)


def _tile_positions(place: str, arrangements: int, width: int) -> Tensors:
    prefix = f"{place}_tile_positional_embedding"
    return (*table(f"{prefix}.gate", 1), *table(f"{prefix}.embedding.weight", arrangements, width))


def gemma4(v: Fields) -> Tower:
    """Gemma 4: four norms a layer, query and key norms per head, positions by row and by column."""
    hidden, intermediate, heads = sizes(v)
    head_dim, patch = v.whole("head_dim"), v.whole("patch_size", maximum=2**20)
    outside = (
        *table("patch_embedder.position_embedding_table", 2, v.whole("position_embedding_size"), hidden),
        *plain("patch_embedder.input_proj", hidden, 3 * patch**2, bias=False),
    )
    kv_heads = v.whole("num_key_value_heads")
    each = (
        *norms(hidden, 4, bias=False),
        *attention(hidden, heads, head_dim=head_dim, kv_heads=kv_heads, bias=False, qk_norm=head_dim),
        *gated_mlp(hidden, intermediate),
    )
    return tower("vision", VISION, "vision_tower", outside, (v.layer_count(), each))


def kimi_k25(v: Fields) -> Tower:
    """MoonViT 3D: learned positions on a grid. The checkpoints' own names of the fields come first."""
    renamed = Fields({**v.data, **_without_prefix(v)}, v.model_type, v.path)
    hidden, _, _ = sizes(renamed)
    rows, columns = v.whole("pos_emb_height"), v.whole("pos_emb_width")
    if v.has("init_pos_emb_height") or v.has("init_pos_emb_width"):
        rows, columns = v.whole("init_pos_emb_height", 64), v.whole("init_pos_emb_width", 64)
    outside = (
        *conv("patch_embed.proj", hidden, 3, *pair(v, "patch_size")),
        *table("patch_embed.pos_emb.position_embeddings", rows, columns, hidden),
        *norm("final_layernorm", hidden, bias=True),
    )
    return tower("vision", VISION, "vision_tower", outside, (renamed.layer_count(), layer(*sizes(renamed))))


def _without_prefix(v: Fields) -> dict[str, object]:
    return {name.removeprefix("vt_"): value for name, value in v.data.items() if name.startswith("vt_")}


def minimax_m3(v: Fields) -> Tower:
    """A CLIP encoder with rotary positions and patches of two frames."""
    hidden, intermediate, heads = sizes(v)
    outside = (
        *conv(
            "embeddings.proj",
            hidden,
            v.whole("num_channels"),
            *_frames(v),
            *pair(v, "patch_size"),
            bias=False,
        ),
        *norm("pre_layrnorm", hidden, bias=True),
    )
    return tower("vision", VISION, "vision_tower", outside, (v.layer_count(), layer(hidden, intermediate, heads)))


def _frames(v: Fields) -> tuple[int]:
    return (v.whole("temporal_patch_size", 2),)


def step3(v: Fields) -> Tower:
    """Step 3.7: scales on both branches; two convolutions after the layers. The checkpoint says width and layers."""
    hidden = v.whole("width", v.whole("hidden_size"))
    layers = v.layer_count("layers" if v.has("layers") else "num_hidden_layers")
    heads = v.whole("heads", v.whole("num_attention_heads"))
    intermediate = int(hidden * ratio(v, "mlp_ratio", 8960 / 1536))
    patch = pair(v, "patch_size")
    outside = (
        *conv("embeddings.patch_embedding", hidden, v.whole("num_channels", 3), *patch, bias=False),
        *table("embeddings.position_embedding.weight", grid(v), hidden),
        *norm("pre_layernorm", hidden, bias=True),
        *conv("downsampler1", 2 * hidden, hidden, 3, 3),
        *conv("downsampler2", 4 * hidden, 2 * hidden, 3, 3),
    )
    return tower(
        "vision",
        VISION,
        "vision_model",
        outside,
        (layers, (*layer(hidden, intermediate, heads), *scales(hidden))),
    )


def muse(v: Fields) -> Tower:
    hidden, intermediate, heads = sizes(v)
    patch, frames = v.whole("patch_size", maximum=2**20), v.whole("patch_temporal", 2)
    outside = (
        *plain("patch_embedder.patch_embedding", hidden, 3 * frames * patch**2, bias=False),
        *table(
            "patch_embedder.position_embedding_table",
            v.whole("pos_emb_height") * v.whole("pos_emb_width"),
            hidden,
        ),
        *norm("ln_pre", hidden, bias=True),
        *norm("ln_post", hidden, bias=True),
    )
    return tower("vision", VISION, "vision_tower", outside, (v.layer_count(), layer(hidden, intermediate, heads)))


READERS = {
    "llama4_vision_model": llama4,
    "mllama_vision_model": mllama,
    "gemma4_vision": gemma4,
    "kimi_k25_vision": kimi_k25,
    "minimax_m3_vl_vision": minimax_m3,
    "step3p5_vision": step3,
    "muse_spark_vision": muse,
    "muse_glimmer_vision": muse,
}
