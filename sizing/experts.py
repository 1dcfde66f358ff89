"""How many experts of a mixture a batch of tokens touches."""


def experts_touched(experts: int, top_k: int, tokens: int) -> float:
    """Expected number of different experts that `tokens` tokens go through, each choosing `top_k` of them uniformly.

    E × (1 − (1 − k/E)^tokens). Real routing is skewed, so real batches touch fewer.
    """
    return experts * (1 - (1 - top_k / experts) ** tokens)
