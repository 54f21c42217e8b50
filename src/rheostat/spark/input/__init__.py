"""The rows of an epoch: the streams of the topology, and how many rows each source brought."""
