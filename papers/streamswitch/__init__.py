"""StreamSwitch's evaluation (section 6), run again in the simulator: one file per figure, ``testbed`` what they run on.

``streamswitch_evaluation`` runs them all, for ``rheostat reproduce streamswitch``. Each figure is drawn for the
algorithm as published; a name that ends in ``_ours`` is the same figure of our version.
"""
