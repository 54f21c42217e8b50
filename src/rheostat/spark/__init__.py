"""Rheostat on Spark: the only package that imports PySpark.

A row's way, each step in a file of its own and none going back:

1. ``topology``                    a topology starts, and hands its epochs to Spark
2. ``epoch/epoch_runner``          Spark calls with a micro-batch; ``epoch/epoch`` runs its steps in order
3. ``input/epoch_streams``         the micro-batch becomes the streams of the topology
4. ``epoch/level``                 one SQL text aggregates rows to partials and routes them (``planning.feed_sql``)
5. ``stage/stage``                 a Spark stage runs one task per slot, told by ``stage/specs``
6. ``tasks/task``                  a task takes partials and rows in (``tasks/window_ingest``, ``tasks/keyed_task``)
7. ``rheostat.state``              and writes them as segments
8. ``tasks/window_close``          windows that the watermark has passed are closed, timers called
9. ``tasks/result_files``          results become Parquet files, reported in ``stage/task_reports``
10. ``output/epoch_outputs``       the driver stages them; operators of the next level read them as streams
11. ``output/sink_writers``        sinks get them, and late rows are kept aside (``output/aside``)
12. ``rheostat.state.checkpoint``  the manifest commits the epoch

``query`` is the handle of a running query, ``progress`` what it tells of an epoch, ``session`` and ``java`` what Spark
needs to start.
"""
