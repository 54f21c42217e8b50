"""Streams to run on, for the simulator and the demonstration.

- ``arrivals``: what a workload is, and those that are no more than a rate
- ``cells``, ``draws``: how rows are drawn, the same however time is cut into spans
- ``sinusoid``, ``nexmark``, ``wordcount``, ``micro``: the papers' synthetic workloads
- ``exchange``, ``market``: limit orders of a trading day, as rows and as arrivals
- ``lending``: loans as SQL, for the lending job
- ``load_traces``: recorded load curves from a folder, or synthetic ones
"""
