"""Decisions about elasticity, as pure functions of values: no Spark, no clock, no files.

================  ====================================================================================================
``model``         values that all policies share: plan, observation, proposal; queueing formulas
``routing``       keys to shards, shards to slots, and the balancing rule
``loop``          the control loop around a policy: observe, learn, decide, request
``record``        recorded runs: what policies saw and decided, and the same decisions made again
``policies``      all policies by name, and the engines that each one runs on
``baselines``     policies that the papers compare with, and plain balancing
``elasticutor``   elastic executors: cores follow the load, keys stay
``streamswitch``  keeps a latency bound with few slots
``elysium``       scales operators and nodes independently of each other
``posg``          schedules stateless rows by their cost
================  ====================================================================================================
"""
