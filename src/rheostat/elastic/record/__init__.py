"""Recorded runs: everything that a policy saw and decided, as lines of JSON, and the same decisions made again.

==================  ===================================================================================
``recording``       a recorded run, and the lines of its file
``value_codec``     values as JSON and back, by the types of their fields
``array_codec``     arrays as short text and back, bit for bit
``decision_replay``  lets a policy decide again over what was recorded, and compares
==================  ===================================================================================

``rheostat.spark.recorder`` writes the lines of a running query, ``rheostat.simulate.replay`` runs other policies over
them. Only the standard library and NumPy are needed.
"""
