"""Log-structured state with exactly-once commits, on any Arrow filesystem.

In reading order:

``files``         a folder on any Arrow filesystem
``segments``      immutable Arrow files with sorted rows and an index
``cache``         a node's local copies of remote segments
``copies``        which node has which segments, as the driver knows it
``shard_groups``  sets of shards, small enough for a manifest
``window_table``  reads and writes the rows of a table
``keyed_table``   the same for keyed state, where the newest row of a key counts
``compaction``    chooses the segments to fold into one
``manifest``      the state of a query after an epoch; writing it is the commit
``lock``          allows one query per checkpoint
``checkpoint``    the folder of a query, and the commit of an epoch
``event_log``     decisions and other events, as small files that are never changed
``inspection``    a checkpoint as plain values, for ``rheostat inspect``
"""
