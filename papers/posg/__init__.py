"""POSG's evaluation (section V), run again in a simulation."""
