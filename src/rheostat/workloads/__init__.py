"""Generators of streams: the lending job, skewed keys."""
