"""One module an engine: how it lays out the cache, what it budgets, what it prints."""
