"""StreamSwitch's evaluation (section 6), run again in the simulator: one file per figure.

``streamswitch_evaluation`` runs them all for ``rheostat reproduce streamswitch``. ``testbed`` holds the engines,
workloads and policies that they run on. Each figure is drawn for the algorithm as published; a file name that ends in
``_ours`` is the same figure for our version.
"""
