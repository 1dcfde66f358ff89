"""What start-up measures beside the weights: the profile run, its encoder and sampler, and CUDA graphs."""
