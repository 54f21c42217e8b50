"""What Enorm's figures run on.

- ``cost_model``: the paper's nodes, what things cost there, and how long its jobs take.
- ``random_jobs``: large random jobs, and the chain of four fast operators (section 7.6).
- ``hot_spots``: hot spots that wander while Flux moves shards (section 7.5), on ``node_queues``.
- ``shard_migration``: rows followed one by one while shards move (section 5).
"""
