"""One epoch, from Spark's micro-batch to the commit.

In reading order:

``epoch_runner``   the function that Spark calls with every micro-batch
``epoch``          the steps of one epoch, in order, up to the commit
``query_context``  the parts of a query that its epochs use
``epoch_state``    the setting and the growing state that the stages of an epoch share
``level``          one level of the dataflow: ingest rows, then close windows and call timers
``ahead_counts``   rows of every shard, counted before routing, for policies that look ahead
``apply_operator``  an apply operator: decide how rows are dealt, run its stage, learn what they cost
``applied_work``   the apply operators in one epoch
``source_counts``  rows, late rows and newest event time of every source
``stream_stager``  stages streams that no task has staged, with plans that are kept
``epoch_progress``  the progress of an epoch
``epilogue``       what follows a commit, done while Spark chooses the rows of the next epoch
``clocks``         watermarks of merged streams, and the time at which Spark began an epoch
"""
