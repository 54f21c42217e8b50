"""The values that all policies share.

==================  ===================================================================================
``plan``            where operators run, and proposals to change it
``observation``     what one interval or epoch measured
``node_range``      how many nodes a query may have
``roster``          which node has which number, and which node to release
``node_speeds``     how fast each node is, from the useful seconds of its rows
``policy``          the protocol of policies: ``begin``, ``learn``, ``decide``; their time limits and rests
``smoothing``       moving means, and the weight of the newest measurement in each of them
``promise``         a bound on the mean latency over a sliding window, as users promise it
``success``         how often such a promise was kept
``epoch_law``       the micro-batch law: how long an epoch takes, and how late rows are
``row_costs``       what a row of every shard costs
``law_fit``         calibrates the micro-batch law from observed epochs
``shift``           tells a shift of keys from chance
``queueing``        formulas for M/M/1, M/M/k, M/G/1, Jackson networks and micro-batches
==================  ===================================================================================
"""
