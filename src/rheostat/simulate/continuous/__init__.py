"""The continuous engine: rows one by one through queues, slots, a network and moving shards.

===============  =====================================================================================================
``engine``       the engine as Python sees it: step it by intervals, apply plans to it
``records``      its state, as records that compiled loops read and write
``job_records``  a job as such records
``kernel``       the inner loops: rows through queues, slots that serve them
``queues``       queues of rows, as linked lists in one pool
``network``      when rows and state are on another node
``shard_moves``  how shards begin to move
``randomness``   random numbers inside compiled loops
===============  =====================================================================================================
"""
