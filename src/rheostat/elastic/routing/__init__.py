"""Keys to shards, shards to slots: the routing table, its load, and how it changes (Elasticutor section 3.1).

==================  ===================================================================================
``table``           key to shard for good, shard to slot at will
``shard_load``      how much work every shard causes
``balance``         the one balancing rule: even slots, and other numbers of them
``requests``        what people ask for, as revisions; and the record of what changed
==================  ===================================================================================
"""
