"""The demonstrations on local Spark, shown live in the terminal.

- ``promise_demo``: ``rheostat demo``, a promise about latency under a load that surges: fixed slots, then StreamSwitch
- ``promise_job``, ``sleeping_totals``: its load and its job
- ``promise_side``, ``promise_display``: one of its sides, and how it is shown
- ``windows_demo``: ``rheostat demo windows``, the lending job on Rheostat, and on plain Spark for comparison
- ``lending_job``, ``native``, ``figures``: its job, plain Spark's side, and the table that compares them
"""
