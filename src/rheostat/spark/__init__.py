"""Rheostat on Spark: the only package that imports PySpark.

A row passes through these files in this order, and never goes back:

1. ``topology``                    starts the query and registers ``epoch/epoch_runner`` with Spark
2. ``epoch/epoch_runner``          is called by Spark with each micro-batch; ``epoch/epoch`` runs the steps of the epoch
3. ``input/epoch_streams``         splits the micro-batch into the streams of the topology
4. ``epoch/level``                 aggregates rows to partials and routes them, in one SQL query (``planning.feed_sql``)
5. ``stage/stage``                 runs a Spark stage with one task per slot; ``stage/specs`` holds its instructions
6. ``tasks/task``                  ingests partials and rows (``tasks/window_ingest``, ``tasks/keyed_task``)
7. ``rheostat.state``              writes them as segments
8. ``tasks/window_close``          closes the windows that the watermark has passed; ``tasks/keyed_task`` calls timers
9. ``tasks/result_files``          writes results as Parquet files; ``stage/task_reports`` lists them
10. ``output/epoch_outputs``       collects the files; operators of the next level read them as streams
11. ``output/sink_writers``        writes the sinks; ``output/aside`` selects the rows to keep aside
12. ``rheostat.state.checkpoint``  commits the epoch by writing its manifest

An observation goes from ``stage/task_reports`` through ``observer`` to the policy loop (``rheostat.elastic.loop``), and
its plan comes back through ``actuator`` as the routing of the next epoch. ``homes`` gives every slot the host that has
its state; ``hosts`` knows the hosts.

Executors come and go through ``executors``.

Beside them: ``query`` is the handle of a running query, ``progress`` describes one epoch, ``resume`` continues from a
checkpoint, ``replanner`` plans a running query anew, ``reshard`` shards state by other attributes, ``map_check``
validates maps, ``session`` and ``java`` set Spark up, ``python_daemon`` forks the Python workers,
``cluster`` runs a cluster on one machine, ``profile_keeper`` keeps what ELYSIUM has learned, ``profile_run`` is a
profiling phase.
"""
