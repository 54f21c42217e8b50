"""ELYSIUM's evaluation (section 5), run again on a simulated cluster: one file per figure or table.

``elysium_evaluation`` runs them all, for ``rheostat reproduce elysium``. ``testbed`` is what they run on. Files that
begin with ``added`` are what we add.
"""
