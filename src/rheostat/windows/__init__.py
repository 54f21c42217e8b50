"""Windows as pure functions: how they are cut into panes, derived from each other, closed and refreshed.

Nothing here knows Spark, a clock or files. In reading order:

``window``         a time window, and ``tumbling``, ``hopping`` and ``sliding``, which make them
``panes``          the largest interval that every requested window is made of
``covers``         the cheapest way to lay a window out of smaller ones
``consolidation``  the plan: which windows are derived from which, and how long each piece is kept
``partials``       what is kept per key and pane, in Spark SQL and in Polars
``sketches``       approximate partials: distinct counts, quantiles, frequent values
``custom``         partials that a user writes
``window_layout``  the columns of a window table, and how its rows are merged
``lateness``       which rows come too late, and where late rows are added
``close``          results of windows that have ended
``refresh``        current values of windows that are still open
"""
