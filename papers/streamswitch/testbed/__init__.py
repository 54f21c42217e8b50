"""What StreamSwitch's figures run on: engines, workloads and policies by their names in the paper.

- ``named_policies``: Switch, DRS and Static by name, as published and as ours, and what is kept of a run.
- ``engines``: Samza and Flink, by how they carry out a treatment.
- ``trading_day``: the exchange's day of orders on one operator (section 6.1).
- ``bursts``: stocks that have bursts of their own.
- ``clips``: a day looked at line by line, and clips of single treatments (section 6.2).
- ``waves``: NEXMark's queries at a rate that is a sine (sections 6.3 to 6.5).
- ``word_count``: two operators and a bound for both (section 6.6).
"""
