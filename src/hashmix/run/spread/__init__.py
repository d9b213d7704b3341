"""Chains whose rows are spread over the shards of an engine."""
