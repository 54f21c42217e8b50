"""Enorm's evaluation (section 7), run again in a simulation."""
