"""Policies that the papers compare with, and plain balancing.

=====================  ============================================================================================
``static``             changes nothing; runs on Spark
``plain_balance``      a fixed number of slots, evenly loaded; runs on Spark
``resource_centric``   Elasticutor's model, with keys repartitioned over whole operators (Elasticutor section 2.2)
``drs``                as many slots as M/M/k asks for (StreamSwitch section 6)
=====================  ============================================================================================
"""
