"""The input load of the next minutes, forecast from that of the past ones (ELYSIUM sections 3.2 and 4).

=================  ===================================================================================================
``series``         a recorded load, and what a forecast must be able to do
``paper_network``  the paper's neural network
``seasonal``       seasonal exponential smoothing with a safety margin; ours
``boosted_trees``  boosted trees for a quantile; ours
``backtest``       which of them did best on the past
=================  ===================================================================================================
"""
