"""ELYSIUM's evaluation (section 5), run again on a simulated cluster."""
