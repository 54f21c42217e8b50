"""Resource use as a function of the input rate, learned from recorded metrics (ELYSIUM sections 3.2 and 4).

===============  =====================================================================================================
``samples``      recorded metrics, by column
``selectivity``  rows sent per row received
``profile``      CPU of a slot by its input rate, and of a node by the use of its slots
``networks``     small neural networks, trained with cross-validation
===============  =====================================================================================================
"""
