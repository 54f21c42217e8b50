"""Elasticutor: cores by a queueing network, placed with little state moved, shards balanced inside executors.

=====================  ===============================================================================================
``elasticutor``        the policy: all of what follows, once per interval
``shard_rates``        rates of one operator by shard, as moving means (section 4.1)
``rates``              the same of all operators, and when executors are split and merged
``subspaces``          which executor owns which shards and slots (section 2.2)
``allocation``         how many cores every executor gets, by M/M/k (section 4.1)
``epoch_allocation``   the same where rows come in epochs, by the micro-batch law
``cores``              who has how many cores on which node
``placement``          on which nodes those cores are, with little state moved (section 4.2)
``core_trades``        the exchange of cores that placement comes down to
``core_market``        its compiled loops: who gives the cheapest core
``printed_placement``  Algorithm 1 to the letter, for comparison
``balance_executors``  shards over the slots of each executor (section 3.1)
``split_merge``        executors that outgrew their node are split, idle ones merged (end of section 4.2)
=====================  ===============================================================================================
"""
