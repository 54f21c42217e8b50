"""The simulation that POSG's figures run on.

- ``streams``: synthetic streams (section V-A), how the text is read, and trials of the three groupings on a stream.
- ``mentions``: generated tweets that mention media, politicians and others.
- ``shuffle``: a scheduler that sends tuples to slots, each with a queue.
- ``sweep``: varies one parameter over many streams, as published and with our version, and draws the figures.
"""
