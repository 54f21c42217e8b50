"""Forecasts the input load of the next minutes from that of the past (ELYSIUM sections 3.2 and 4).

=================  ===================================================================================================
``series``         recorded loads, and the protocols of forecasters and forecasts
``paper_network``  the paper's neural network
``seasonal``       seasonal exponential smoothing with a safety margin; our addition
``boosted_trees``  boosted trees that forecast a quantile; our addition
``backtest``       compares forecasters on past loads and chooses the best
=================  ===================================================================================================
"""
