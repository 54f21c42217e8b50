"""What only ELYSIUM's evaluation runs on."""
