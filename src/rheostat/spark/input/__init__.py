"""The rows of an epoch, before any stage: the streams of the topology.

In reading order:

``epoch_streams``  Spark's micro-batch seen as the streams of the topology
``lineage``        what a map does to rows, read off Spark's own plan
``shard_counts``   how many rows of the epoch each shard has, for policies that look ahead
"""
