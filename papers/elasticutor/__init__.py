"""Elasticutor's evaluation (section 5), run again in the simulator."""
