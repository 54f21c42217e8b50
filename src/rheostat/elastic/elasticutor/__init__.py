"""Elasticutor: cores by a queueing network, placed with little state moved, shards balanced inside executors."""
