"""Decisions about elasticity, as pure functions of values: no Spark, no clock, no files.

================  ====================================================================================================
``model``         what all policies share: the plan, the observation, the policy, queueing formulas
``routing``       keys to shards, shards to slots, and the one balancing rule
``loop``          the control loop around a policy: observe, learn, decide, request, until it is observed
``policies``      all policies by name, and where each of them runs
``baselines``     what the papers compare with, and plain balancing
``elasticutor``   elastic executors
``streamswitch``  a latency bound kept at least cost
``elysium``       operators and nodes scaled independently of each other
``posg``          stateless rows by what they cost
================  ====================================================================================================
"""
