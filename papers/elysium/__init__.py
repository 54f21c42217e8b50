"""ELYSIUM's evaluation (section 5), repeated on a simulated cluster: one file per figure or table.

``elysium_evaluation`` runs all of them for ``rheostat reproduce elysium``. ``testbed`` holds the simulated cluster.
Files whose names begin with ``added`` measure what this project adds to the paper.
"""
