"""Enorm's evaluation (sections 6.1 and 7), run again: one file per figure or section.

``enorm_evaluation`` runs them all for ``rheostat reproduce enorm``. ``testbed`` holds the cost model and the simulators
that they use. ``added_future_work`` tries what the paper only proposes.
"""
