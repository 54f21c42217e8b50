"""The rows of an epoch before any stage: Spark's micro-batch as the streams of the topology.

In reading order:

``epoch_streams``  the rows of every stream of the topology in one epoch
``result_scans``   the results of operators as Spark's rows, without a query for it
``lineage``        what a map does to rows, read from Spark's own plan
``natural_arrival``  the column with the arrival time that a source has of itself, if it has one
``source_limits``  how many rows the sources of a running query may hand over per epoch
"""
