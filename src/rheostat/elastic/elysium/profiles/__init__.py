"""What operators and nodes use at a rate, learned from recorded metrics (ELYSIUM sections 3.2 and 4).

===============  =====================================================================================================
``samples``      columns of recorded metrics
``selectivity``  rows sent per row received
``profile``      CPU of a slot or a node as a function of what it is given
``networks``     small neural networks, trained with cross-validation
===============  =====================================================================================================
"""
