"""What Enorm's figures run on.

- ``cost_model``: costs on the paper's nodes, and how long its jobs take (sections 7.1 to 7.4 and 7.7).
- ``random_jobs``: large random jobs, and the chain of four fast operators (sections 7.6 and 7.7).
- ``hot_spots``: hot spots that move from node to node while Flux moves shards (sections 7.2 and 7.5).
- ``node_queues``: the queues of the nodes, which ``hot_spots`` simulates.
- ``shard_migration``: every row followed while shards move (section 5).
- ``split_model``: the paper's costs of split and combined components (section 5.1.1).
- ``migration_costs``: the cost of moving a shard: instant, smooth or disruptive (sections 4.5 and 5).
- ``flux``: load balancing by periodic moves between pairs of nodes (section 3.2, after Shah et al.).
- ``instances``: fuses only the instances that exchange many rows (section 8).
- ``refusion``: adapts components operator by operator when the traffic changes (section 8).
"""
