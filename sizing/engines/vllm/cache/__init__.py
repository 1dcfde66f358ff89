"""The cache: what each layer keeps, the groups that share a block table, and the pool that sequences draw on."""
