"""The simulator: runs policies on simulated clusters of any size, without Spark.

================  ======================================================================================================
``job``           what is simulated: operators, nodes, network, costs of changes
``simulation``    runs a policy on an engine: observe, decide, apply
``epochs``        the micro-batch engine: simulates Spark's epochs, with rows counted by shard
``continuous``    the continuous engine: simulates the engines of the papers, row by row
``interval``      what an engine reports of one interval
``latency_bins``  counts of rows by latency, and their quantiles
``trace``         the result of a run: values of every interval, and all decisions
``scenario``      builds a simulation from a TOML file
``replay``        replays recorded runs of Spark under other policies and numbers of slots
``report``        what ``rheostat simulate`` prints and draws
================  ======================================================================================================
"""
