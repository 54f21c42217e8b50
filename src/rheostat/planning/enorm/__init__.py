"""Enorm's planner: which operators run together, in which layout, and how they move (Enorm sections 4 and 5)."""
