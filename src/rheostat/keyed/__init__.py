"""Calls of the user's functions as pure functions: with keyed state, and without any.

In reading order:

``keyed_layout``    the columns of a keyed table
``call_result``     the time of a call, and its result
``declared_types``  checks what the user's functions return against the declared columns and types
``frame_calls``     the whole-frame form: one call for all rows of a slot
``key_calls``       the key-by-key form: one call per key
``apply_calls``     functions without state: row by row or over frames, with what rows cost by item
"""
