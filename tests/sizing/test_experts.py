import pytest

from sizing.experts import experts_touched


@pytest.mark.parametrize(
    ("experts", "top_k", "tokens", "touched"),
    [(128, 4, 1, 4), (128, 4, 32, 81.657), (256, 8, 64, 222.44), (512, 10, 16, 138.57)],
)
def test_gpt_oss_deepseek_and_qwen3_next(experts: int, top_k: int, tokens: int, touched: float) -> None:
    """gpt-oss-120b, DeepSeek-V3 and Qwen3-Next at batches worked out by hand."""
    assert experts_touched(experts, top_k, tokens) == pytest.approx(touched, abs=0.005)
