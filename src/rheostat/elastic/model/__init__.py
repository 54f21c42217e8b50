"""The values that all policies share.

==================  ===================================================================================
``plan``            where operators run, and proposals to change it
``observation``     what one interval or epoch measured
``policy``          the protocol of policies: ``begin``, ``learn``, ``decide``; their time limits and rests
``smoothing``       moving means, and the weight of the newest measurement in each of them
``queueing``        formulas for M/M/1, M/M/k, M/G/1, Jackson networks and micro-batches
==================  ===================================================================================
"""
