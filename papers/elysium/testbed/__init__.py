"""What ELYSIUM's figures run on: a simulated cluster like that of its evaluation (section 5).

- ``lab``: what every figure needs: topologies, learned profiles, loads, and runs.
- ``topologies``: the two topologies, with what their operators really cost.
- ``curves``: input loads over time, one value per second.
- ``loads``: the input loads, as shares of what four nodes can do.
- ``profiling_phase``: a variable load for 30 minutes, and profiles learned from its record.
- ``assessments``: a policy at work, assessment by assessment, and what came of it.
- ``cluster``: topologies on nodes, which can be reconfigured; ``flow`` has the rows, second by second.
- ``monitor`` and ``resource_monitor``: what monitoring sees of it.
- ``metric_store``: where that is kept.
"""
