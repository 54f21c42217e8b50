"""ELYSIUM for a running query, in an engine with epochs such as Spark.

The paper's operators are processes that rows flow through. On Spark an operator is a stage of every epoch, its slots
are tasks that take cores in turn, and stages run one after the other. So the profiles are learned by epoch, and the
micro-batch law says what a configuration uses.

======================  ==========================================================================================
``epoch_use``           what one epoch tells about its operators: rows, core seconds, memory
``use_profile``         profiles of operators, learned from epochs; older epochs count less
``query_profile``       the profiles of a query, as plain values for a file
``assessment_periods``  epochs summed up to periods: the load, and the use of slots and nodes
``epoch_config``        Algorithm 1 with stages that share cores: slots of operators, then nodes (section 3.2)
``live_history``        what the policies remember of a running query
``slot_plans``          another number of slots for an operator, evenly loaded
``live_elysium``        the policy, reactive and proactive
``live_joint``          the baseline: one slot and one node at a time (section 5.2)
``profile_policies``    the protocols of policies that learn a profile, and that change the number of nodes
``past_loads``          the load of a recorded run, period by period
``load_cycles``         the cycle of a recorded load, for forecasts
``past_thresholds``     thresholds learned from a recorded load (section 5.1)
======================  ==========================================================================================
"""
