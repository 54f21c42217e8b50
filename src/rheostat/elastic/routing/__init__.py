"""Keys to shards, shards to slots: the routing table, its load, and how it changes (Elasticutor section 3.1)."""
