"""Elasticutor's evaluation (section 5), run again in the simulator: one file per figure or table.

``elasticutor_evaluation`` runs them all for ``rheostat reproduce elasticutor``. ``testbed`` holds the simulated
clusters that they run on, and ``added_scale`` what we add.
"""
