"""Keyed state as pure functions: how a key's state is laid out, and how user logic is called with it.

In reading order:

``keyed_layout``    the columns of a keyed table
``call_result``     when user logic is called, and what a call gives
``declared_types``  the values a user gives, checked against the types that were declared
``frame_calls``     logic over whole frames: one call for all rows of a slot
``key_calls``       logic key by key: one call per key
"""
