"""The same policies without Spark: engines that run them on simulated clusters of any size.

==============  ======================================================================================================
``job``         what is simulated: operators, nodes, network, costs of changes
``simulation``  a policy on an engine: observe, decide, apply
``epochs``      the micro-batch engine: what Spark does, with rows counted by shard
``continuous``  the continuous engine: what the papers ran on, row by row
``success``     how often a latency bound was kept
``trace``       what a run saw, interval by interval
``scenario``    all of it from a TOML file
``report``      what ``rheostat simulate`` prints and draws
==============  ======================================================================================================
"""
