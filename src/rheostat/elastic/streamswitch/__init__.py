"""StreamSwitch: keep latency within a bound over a sliding window, at least cost. In the order in which one reads it:

- ``streamswitch``: the policy, which wires the three stages below for every operator (section 2).

Examine (section 4):

- ``readings``: the counters that go in, and the rates and latencies that come out.
- ``examine``: latency and rates over the window, from sparse counters.
- ``slot_places``: slots by their place in arrays, since their numbers have gaps.
- ``counters``: compiled, what is known after one more interval (4.1 to 4.3).
- ``counter_readings``: compiled, what can be read from it (4.1 and 4.2).

Diagnose (section 3):

- ``diagnosis``: health, limits, what is decided; and ``Rules``, what we add to the paper.
- ``diagnose``: scale in, balance, scale out or nothing (3.2).
- ``health``: how healthy slots are, measured and projected (3.3).
- ``unit_strategies``: the best step of every kind (3.4, Algorithms 1 and 2).
- ``strain``: compiled, the arithmetic of the two.

Treat (section 5):

- ``treat``: a diagnosis as a change of the plan; ``rheostat.elastic.loop`` carries it out.

Several operators (section 6.6):

- ``path_bounds``: one end-to-end bound, divided between the operators of a path.

The paper's baselines DRS and DRS-LB are in ``rheostat.elastic.baselines.drs``.
"""
