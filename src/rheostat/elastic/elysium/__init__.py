"""ELYSIUM: operators and nodes scaled independently of each other, by estimates of what a plan would use."""
