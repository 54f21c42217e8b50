"""POSG's evaluation (section V), repeated in a simulation: one file per figure.

``posg_evaluation`` runs all of them for ``rheostat reproduce posg``. ``testbed`` holds the simulation.
``section_3_readings`` shows how much depends on details that the paper leaves open, and ``added_batches`` measures what
this project adds to the paper.
"""
