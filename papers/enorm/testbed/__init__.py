"""What Enorm's figures run on.

- ``cost_model``: costs on the paper's nodes, and how long its jobs take (sections 7.1 to 7.4 and 7.7).
- ``random_jobs``: large random jobs, and the chain of four fast operators (sections 7.6 and 7.7).
- ``hot_spots``: hot spots that move from node to node while Flux moves shards (sections 7.2 and 7.5).
- ``node_queues``: the queues of the nodes, which ``hot_spots`` simulates.
- ``shard_migration``: every row followed while shards move (section 5).
"""
