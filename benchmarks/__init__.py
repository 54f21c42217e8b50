"""Rheostat beside Spark on the same work, measured in one run."""
