"""Scenarios: a workload, a cluster and a policy, read from a TOML file."""
