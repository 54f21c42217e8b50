"""Policies that the papers compare with: static, resource-centric, DRS, and plain balancing."""
