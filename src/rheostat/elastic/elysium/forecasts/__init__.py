"""The input load of the next minutes, forecast from that of the past ones (ELYSIUM sections 3.2 and 4, and better)."""
