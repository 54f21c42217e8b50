"""The logic of windows: how they are cut into panes, derived from each other, closed and refreshed.

Pure functions: nothing here imports PySpark, reads a clock or touches files. In reading order:

``window``         time windows, and ``tumbling`` and ``sliding``, which make them
``panes``          the pane: the largest interval that divides all requested windows
``covers``         the cheapest way to compose a window of smaller ones
``consolidation``  the plan: which windows are merged from which, and how long each part is kept
``partials``       partial results per key and pane, in Spark SQL and in Polars
``sketches``       approximate partials: distinct counts, quantiles, frequent values
``custom``         partials that a user writes
``window_layout``  the columns of a window table, and how its rows are merged
``lateness``       which rows are late, and where their partials are added
``close``          the results of windows that have ended
``refresh``        the current values of windows that are still open
"""
