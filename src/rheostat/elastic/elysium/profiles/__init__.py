"""What operators and nodes use at a given rate, learned from recorded metrics (ELYSIUM sections 3.2 and 4)."""
