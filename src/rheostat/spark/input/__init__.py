"""The rows of an epoch before any stage: Spark's micro-batch as the streams of the topology.

In reading order:

``epoch_streams``  the rows of every stream of the topology in one epoch
``lineage``        what a map does to rows, read from Spark's own plan
``shard_counts``   the number of rows of each shard in the epoch, for policies that look ahead
"""
