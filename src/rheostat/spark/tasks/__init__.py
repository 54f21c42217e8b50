"""The code that runs in Python workers: one task per slot of a component.

A task reads the segments of its shards, writes new files under unique names, and returns one report. Its files do not
count until the driver commits an epoch that lists them, so a task may be killed, repeated or run twice.

In reading order:

``task``            the two kinds of tasks: one ingests rows, the other closes windows and calls timers
``feed_rows``       the rows of one feed among all rows that the task received
``window_ingest``   window tables: write new partials as a segment, refresh open windows
``reading_ingest``  window tables: the same without an exchange, in the tasks that read rows
``pane_placement``  the granules that new partials belong to, and which of them are late
``window_close``    window tables: close windows that have ended
``keyed_rows``      keyed tables: the rows for a processor, sorted and with the types of the topology
``keyed_task``      keyed tables: call the user's functions with rows and timers, write changed state
``apply_task``      apply operators: call the user's function in a slot and measure what rows cost; put output in order
``router_task``     apply operators: deal rows to slots by cost
``hottest_key``     the key that caused the most work in a task
``time_limit``      a time limit on the user's functions
``result_files``    results as Parquet files
``received_rows``   rows, bytes and arrival times of what a task received, by shard
``worker``          the process that runs a task: where it is, and what a task uses of it
"""
