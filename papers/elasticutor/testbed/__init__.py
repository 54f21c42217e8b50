"""What Elasticutor's figures run on.

- ``clusters``: the simulated clusters of the micro-benchmark (section 5.1) and of the exchange (section 5.4).
- ``one_executor``: a single elastic executor on many cores (section 5.2).
"""
