"""ELYSIUM: operators and nodes scaled independently of each other, by estimates of what a plan would use.

=================  ===================================================================================================
``elysium``        the policy, and its variants that scale one dimension only (sections 3.2 and 5.2)
``load_history``   what it remembers: input loads, and the CPU that slots and nodes used
``plans``          its configurations as plans, and plans as configurations
``configuration``  what it chooses, and within what limits (sections 2 and 5.1)
``config_search``  Algorithm 1: operators first, then nodes (section 3.2)
``estimator``      what a configuration would use at some load (section 3.2)
``dataflow``       operators and the streams between them (section 2)
``allocator``      which slot runs on which node (sections 4 and 7)
``thresholds``     thresholds learned by trying them (section 5.1)
``profiles``       what operators and nodes use at a rate, learned from metrics
``forecasts``      the input load of the next minutes
``joint_scaling``  the baseline: an operator and a node at a time (section 5.2)
=================  ===================================================================================================
"""
