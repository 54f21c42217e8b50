"""What runs inside Python workers: one task per slot of a component.

A task reads the segments of its shards, writes new ones under names of its own, and returns one report. Nothing it
writes counts until the driver commits an epoch that mentions it, so tasks may be killed, repeated or run twice.

In reading order:

``task``            the two kinds of tasks: take an epoch's rows in, and close what the watermark has passed
``feed_rows``       the rows of one feed out of everything that arrived
``window_ingest``   window tables: write new partials as a segment, refresh open windows
``pane_placement``  the granules that new partials belong to, and which of them are late
``window_close``    window tables: close windows that have ended
``keyed_rows``      keyed tables: the rows for a processor, in order and in their types
``keyed_task``      keyed tables: call user logic with rows and timers, write what changed
``hottest_key``     the key that caused most work in a task
``time_limit``      a time limit on user code
``result_files``    results as Parquet files
``arrival_times``   when rows arrived, thinned to what latency needs
"""
