"""The continuous engine: rows one by one through queues, slots, a network and moving shards."""
