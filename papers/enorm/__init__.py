"""Enorm's evaluation (sections 6.1 and 7), run again: files by figure and section, ``testbed`` what they run on.

``enorm_evaluation`` runs them all, for ``rheostat reproduce enorm``. ``added_future_work`` is what we add.
"""
