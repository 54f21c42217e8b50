"""Elasticutor: cores by a queueing network, placed so that little state moves, shards balanced inside executors.

=====================  ===============================================================================================
``elasticutor``        the policy, which calls all of the following once per interval
``shard_rates``        rates of one operator by shard, as moving means (section 4.1)
``rates``              rates of all operators, and when to split and merge executors
``subspaces``          which executor owns which shards and slots (section 2.2), and when that changes
``executor_rates``     rates and homes of executors, from those of their shards
``allocation``         how many cores every executor gets, by M/M/k (section 4.1)
``epoch_allocation``   how many cores every executor gets in an engine with epochs, by the micro-batch law
``cores``              the cores that each executor has on each node, what a change costs, and which are idle
``prices``             bytes of state that move if an executor takes or gives up a core
``placement``          on which nodes the cores are, so that little state moves (section 4.2)
``core_trades``        the steps of a placement
``core_market``        the compiled loop that finds the cheapest core
``printed_placement``  Algorithm 1 exactly as printed, for comparison and for ``slot_homes``
``slot_homes``         the host that every slot prefers on Spark, by the bytes of its segments that hosts lack
``executor_slots``     one slot for every core of an executor
``balance_executors``  which slot of an executor has which of its shards (section 3.1)
``split_merge``        splits executors that outgrew their node, and merges idle ones (end of section 4.2)
=====================  ===============================================================================================
"""
