"""What leaves an epoch: staged results, sinks, rows kept aside.

In reading order:

``staged_rows``    rows of an epoch as Parquet files, before any sink has them
``epoch_outputs``  all results of one epoch on their way to the sinks
``sink_writers``   from staged rows to each kind of sink, idempotent by epoch
``aside``          which rows of a source are kept aside
"""
