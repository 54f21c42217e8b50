"""StreamSwitch: keep latency within a bound over a sliding window, with as few slots as possible.

The files, in reading order:

- ``streamswitch``: the policy, which runs the three stages below for every operator (section 2).

Examine (section 4):

- ``readings``: the input of Examine (counters) and its output (rates and latencies).
- ``examine``: estimates latency and rates over the window from sparse counters.
- ``slot_places``: maps slot numbers, which have gaps, to array indices.
- ``counters``: compiled; adds one interval to the counter histories (4.1 to 4.3).
- ``counter_readings``: compiled; computes rates and latencies from the histories (4.1 and 4.2).

Diagnose (section 3):

- ``diagnosis``: the values of this stage: health, limits, diagnoses; and ``Rules``, our additions to the paper.
- ``diagnose``: chooses between scale in, balance, scale out and nothing (3.2).
- ``health``: classifies slots by their measured and projected latency (3.3).
- ``unit_strategies``: finds the best step of each kind (3.4, Algorithms 1 and 2).
- ``strain``: compiled; the arithmetic behind ``health`` and ``unit_strategies``.

Treat (section 5):

- ``treat``: turns a diagnosis into a change of the plan; ``rheostat.elastic.loop`` carries it out.

In an engine with epochs, where the micro-batch law takes the place of M/M/1:

- ``epoch_examine``: rates, work and latency of the last epochs.
- ``epoch_sizes``: the fewest slots that keep the bound, for all operators of a query together.
- ``epoch_diagnose``: chooses between scale in, balance, scale out and nothing.

Several operators (section 6.6):

- ``path_bounds``: divides one end-to-end bound between the operators of a path.

The paper's baselines DRS and DRS-LB are in ``rheostat.elastic.baselines.drs``.
"""
