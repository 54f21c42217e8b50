"""Keys to shards, shards to slots: the routing table, its load, and how it changes (Elasticutor section 3.1).

==================  ===================================================================================
``table``           the hash that fixes the shard of a key, and the first routing of shards to slots
``shard_load``      how much work every shard causes
``balance``         the one balancing rule: evenly loaded slots, and other numbers of slots
``cached_state``    what each executor probably has in its cache
``longest_first``   evenly loaded slots for thousands of shards in a few milliseconds: dealt heaviest first
``speed_shares``    loads of slots that follow their speed
``requests``        users' requests as revisions of a plan, and the record of what changed
==================  ===================================================================================
"""
