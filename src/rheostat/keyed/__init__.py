"""Keyed state: how a key's state is laid out, and how user logic is called with it. Pure."""
