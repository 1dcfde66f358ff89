"""What a model is: the facts of each checkpoint and the readers that turn them into a ModelSpec."""
