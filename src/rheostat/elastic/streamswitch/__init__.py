"""StreamSwitch: a latency bound over a sliding window, kept at least cost by Examine, Diagnose and Treat."""
