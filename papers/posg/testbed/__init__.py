"""What POSG's figures run on.

- ``streams``: synthetic streams as in section V-A, the readings of the text, and one trial of the three groupings.
- ``mentions``: tweets that mention media, politicians and others, generated.
- ``shuffle``: a scheduler in front of slots that work through their queues.
- ``sweep``: a parameter varied over many streams, as published and with our version, and the pictures of it.
"""
