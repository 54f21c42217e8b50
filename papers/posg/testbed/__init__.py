"""What only POSG's evaluation runs on."""
