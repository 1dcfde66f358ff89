"""Into how many tiles a processor cuts an image. Sources: image processors of transformers 5.24."""

from functools import lru_cache


@lru_cache(maxsize=4096)
def tiles_that_fit(height: int, width: int, tile: int, most: int) -> tuple[int, int]:
    """Rows and columns of the canvas that needs the least scaling, then the least area (get_best_fit of llama4)."""
    grids = [(rows, tiles // rows) for tiles in range(most, 0, -1) for rows in range(1, tiles + 1) if tiles % rows == 0]
    scales = {grid: min(grid[0] * tile / height, grid[1] * tile / width) for grid in grids}
    growing = [scale for scale in scales.values() if scale >= 1]
    chosen = min(growing) if growing else max(scales.values())
    return min((grid for grid in grids if scales[grid] == chosen), key=lambda grid: grid[0] * grid[1])


@lru_cache(maxsize=4096)
def tiles_of_shape(height: int, width: int, tile: int, most: int) -> tuple[int, int]:
    """Rows and columns nearest to the shape; of equal ones the larger, up to twice the area.

    Source: get_optimal_tiled_canvas of got_ocr2, which internvl uses.
    """
    shape, best, nearest = width / height, (1, 1), float("inf")
    for tiles in range(1, most + 1):
        for columns in range(1, tiles + 1):
            if tiles % columns:
                continue
            rows = tiles // columns
            distance = abs(shape - columns / rows)
            larger = distance == nearest and height * width > tile * tile * tiles / 2
            if distance < nearest or larger:
                nearest, best = min(distance, nearest), (rows, columns)
    return best
