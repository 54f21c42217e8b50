"""Decisions about elasticity as pure functions of values."""
