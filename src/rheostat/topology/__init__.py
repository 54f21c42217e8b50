"""What the user writes, checked with errors that say what to change. Pure: no Spark, no clock, no files.

In reading order:

- ``graph``: the topology, and the checks that need all of it
- ``stream``: what a user holds and goes on from
- ``nodes``: what every operator is, as plain values
- ``event_time``: how the rows of a stream are placed in time
- ``maps``: ``Stream.map`` over Arrow batches
- ``window_nodes``: the checks behind ``aggregate``, ``compute`` and ``consolidate``
- ``aggregates``: what can be kept per key and window
- ``process``: the checks behind ``process`` and ``process_keys``
- ``keyed_state``: what is kept per key, and for how long
- ``processors``: logic for one key at a time
- ``sinks``: where results go
"""
