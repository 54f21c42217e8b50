"""One epoch: from Spark's micro-batch to the commit.

In reading order:

``epoch_runner``   the function that Spark calls with every micro-batch
``epoch``          the steps of one epoch, in order, down to the commit
``query_context``  what an epoch needs to know of its query
``level``          one level of the dataflow: take rows in, then close what the watermark has passed
``source_counts``  what the epoch brought from every source
``clocks``         watermarks where streams meet, and when Spark began the epoch
"""
