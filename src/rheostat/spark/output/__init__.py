"""The output of an epoch: staged results, sinks, rows kept aside.

In reading order:

``parquet_files``  Spark writes the rows of a finished plan
``staged_rows``    rows of an epoch as Parquet files, before they are written to sinks
``epoch_outputs``  all output of one epoch: stages it, writes the sinks, keeps rows aside
``sink_writers``   writes staged rows to each kind of sink, idempotent by epoch
``aside``          selects the rows of a source to keep aside
"""
