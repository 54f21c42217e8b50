"""The continuous engine: simulates every row, with queues, slots, a network and shards that move.

===============  =====================================================================================================
``engine``       the engine's Python interface: step it by intervals, apply plans to it
``records``      the state of the simulation, as record arrays that compiled loops read and write
``job_records``  converts a job to such records
``kernel``       the compiled loops: admit rows, serve them in slots
``handover``     compiled too: state that is sent, shards that land, operators that stop for it
``queues``       queues of rows, as linked lists in one pool
``network``      computes when rows and state arrive on another node
``shard_moves``  starts the move of shards
``randomness``   random numbers inside compiled loops
===============  =====================================================================================================
"""
