"""A simulated cluster like the one of ELYSIUM's evaluation (section 5), for the paper's figures.

- ``lab``: what every figure needs: topologies, learned profiles, loads, and a way to run a policy.
- ``topologies``: the two topologies and the true costs of their operators.
- ``curves``: shapes of input loads, one value per second.
- ``loads``: the input loads of the evaluation, as shares of what four nodes can process.
- ``profiling_phase``: a variable load for 30 minutes, and the profiles learned from its readings.
- ``assessments``: a policy running against a load, one assessment after the other, and the outcome.
- ``cluster``: topologies placed on nodes; reconfiguring restarts them.
- ``flow``: how rows move through the placed slots, second by second.
- ``monitor``: readings of input load, traffic and CPU.
- ``resource_monitor``: readings of memory and bandwidth.
- ``metric_store``: the SQLite database that holds the readings.
"""
