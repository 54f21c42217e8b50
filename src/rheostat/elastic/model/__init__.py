"""The values that all policies share.

==================  ===================================================================================
``plan``            where operators run, and proposals to change that
``observation``     what an interval or epoch measured
``policy``          what a policy is: ``begin``, ``learn``, ``decide``; its time limits and rests
``smoothing``       moving means, and how much the newest measurement counts for each user
``queueing``        M/M/1, M/M/k, M/G/1 and Jackson networks, and the law of micro-batches
==================  ===================================================================================
"""
