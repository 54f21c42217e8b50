"""Workloads: the input of simulations, of live runs, of the demonstrations and of the examples.

- ``arrivals``: the interface of all workloads, and the two simplest ones: a constant rate and a curve of rates
- ``cells``: base classes of workloads; draw rows so that they do not depend on the spans of time that are asked for
- ``draws``: random numbers of rows, and checks of parameters
- ``sinusoid``, ``nexmark``, ``wordcount``, ``micro``: the papers' synthetic workloads
- ``nexmark_events``: persons, auctions and bids of NEXMark, as rows
- ``exchange``: limit orders of a trading day, as rows
- ``market``: limit orders of a trading day, as arrivals in a simulation
- ``lending``: loan applications, as SQL expressions
- ``load_traces``: recorded load curves from a folder, or synthetic ones
- ``live_rows``: rows of a live run, each with the time at which it is due
- ``row_feeder``: sends them over TCP when they are due
"""
