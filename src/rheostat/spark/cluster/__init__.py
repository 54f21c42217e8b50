"""A standalone Spark cluster on one machine, for trying out and testing what happens between hosts.

``local_cluster`` starts and stops it, ``cluster_state`` is the file by which it is found again, ``processes`` ends
processes with everything that they started.
"""
