"""Log-structured state that is exactly once, on any Arrow filesystem.

In reading order:

``files``         a folder on any Arrow filesystem
``segments``      immutable Arrow files with sorted rows and an index
``cache``         a node's own copies of remote segments
``window_table``  reading and writing rows of a table
``keyed_table``   the same for keyed state, where the newest row of a key counts
``compaction``    which segments to fold into one
``manifest``      what is true after an epoch
``lock``          one query per checkpoint
``checkpoint``    the folder with all of it, and the commit of an epoch
``inspection``    a checkpoint as plain values, for ``rheostat inspect``
"""
