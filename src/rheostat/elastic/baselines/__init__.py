"""Policies that the papers compare with, and plain balancing.

=====================  ================================================================================
``static``             decides nothing
``plain_balance``      a fixed number of slots, evenly loaded; runs on Spark
``resource_centric``   Elasticutor's model, with keys repartitioned over whole operators
``drs``                as many slots as M/M/k asks for (StreamSwitch section 6)
=====================  ================================================================================
"""
