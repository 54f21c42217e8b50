"""StreamSwitch's evaluation (section 6), run again in the simulator."""
