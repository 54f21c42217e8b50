"""The API for writing a topology. Every call is checked at once, with an error that says what to change.

Nothing here imports PySpark, reads a clock or touches files. In reading order:

- ``graph``: the graph of operators, and the checks on the whole graph
- ``stream``: the stream handles that users chain calls on
- ``nodes``: the operators as plain values
- ``event_time``: the event time of a stream's rows
- ``maps``: ``Stream.map`` with a Python function over Arrow batches
- ``apply``: the checks of ``apply``
- ``window_nodes``: the checks of ``aggregate``, ``compute`` and ``consolidate``
- ``aggregates``: the aggregates for windows, such as ``rh.count``
- ``process``: the checks of ``process`` and ``process_keys``
- ``keyed_state``: the options of keyed state: columns, time to live and its clock
- ``processors``: ``KeyProcessor``, for logic that handles one key at a time
- ``sinks``: the sinks that results are written to
"""
