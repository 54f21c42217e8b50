"""What StreamSwitch's figures run on: engines, workloads, and policies by their names in the figures.

- ``named_policies``: Switch, DRS and Static as published and in our versions, and the result of a run.
- ``ranking``: comparison of policies by success and number of slots (figures 5 and 17).
- ``engines``: Samza and Flink, which differ in how they carry out a treatment.
- ``trading_day``: a trading day of orders on one operator (section 6.1).
- ``bursts``: the same day with bursts of single stocks.
- ``clips``: slots and latencies over the day, and clips of single treatments (section 6.2).
- ``waves``: NEXMark queries whose rate is a sine wave (sections 6.3 to 6.5).
- ``word_count``: two operators with an end-to-end bound (section 6.6).
"""
