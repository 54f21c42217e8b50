"""Benchmarks that run the same work on Rheostat and on plain Spark and compare them. Not part of the wheel.

- ``commands``: the commands of ``rheostat bench``
- ``bench_<name>``: the benchmark of the command ``<name>``; runs each side in its own process and compares the results
- ``native_<name>``: the side of plain Spark; ``native_settings`` has its settings
- ``rheostat_<name>``: the side of Rheostat
- ``tweet_rows``, ``tweet_side``: tweets that arrive live, and a side that enriches them
- ``skewed_files``: writes the input files
- ``slow_reads``: Python workers that read remote files as slowly as from an object store
- ``side_process``: runs one side in its own process and measures its memory
"""
