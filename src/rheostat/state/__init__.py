"""Log-structured, exactly-once state on any Arrow filesystem."""
