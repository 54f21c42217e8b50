"""Rheostat beside Spark on the same work, measured in one run. Not part of the wheel.

- ``commands``: ``rheostat bench``
- ``bench_<name>``: one benchmark, which is the command of that name; runs its sides in processes and compares them
- ``native_<name>``: Spark's own side; ``native_settings`` has what these share
- ``rheostat_<name>``: Rheostat's side
- ``skewed_files``: the input of all of them
- ``side_process``: one side in a process of its own, with its memory measured
"""
