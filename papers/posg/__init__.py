"""POSG's evaluation (section V), run again in a simulation: one file per figure, ``testbed`` what they run on.

``posg_evaluation`` runs them all, for ``rheostat reproduce posg``. ``section_3_readings`` tells how much hangs on what
the text leaves open, and ``added_batches`` is what we add.
"""
