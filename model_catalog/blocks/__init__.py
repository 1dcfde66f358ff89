"""Building blocks that readers compose: each returns the tensors of one part of a layer."""
