"""Word count: Split and Count, and an end-to-end bound over both (StreamSwitch section 6.6).

Rates and speeds are a tenth of the paper's. The paper says that 10 Split and 20 Count slots are needed at the base
rate, so a slot processes a tenth or a twentieth of it. Two words a sentence are ours; with more words, each word would
be less work and nothing else would change. Sentences arrive at random (Poisson), all have equally many words, and all
words cost the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from papers.streamswitch.testbed.engines import Samza
from papers.streamswitch.testbed.named_policies import SAMZA, SWITCH, UNBOUNDED, policy
from rheostat.arrays import Floats
from rheostat.elastic.model.plan import OperatorPlan, Plan
from rheostat.elastic.model.policy import Pause
from rheostat.elastic.policies import StreamSwitch
from rheostat.simulate.interval import Interval
from rheostat.simulate.job import Cluster, Costs, Job, Operator, Timing
from rheostat.simulate.simulation import LatencyBound, Simulation
from rheostat.workloads.wordcount import AMPLITUDE, COUNT_SLOTS, PERIOD, SENTENCES, SPLIT_SLOTS, WordCount

SPLIT, COUNT = "split", "count"
TOTAL, WINDOW = 2.0, 1.0
MARGIN = 0.2

SCALE = 0.1
WORDS = 2.0
SHARDS, NODES, CORES = 64, 4, 16
STATE = 100_000.0
"""Bytes of a shard's state in Count. Ours."""


@dataclass(frozen=True)
class Words:
    """One run of word count.

    Attributes:
        bounds: latency bounds of Split and Count, in seconds.
        seconds: length of the run after the warm-up.
        warm_up: seconds at the beginning that do not count.
        period: period of the rate, in seconds.
        kind: policy, by its name in the figures.
        seed: seed of all random numbers.
    """

    bounds: tuple[float, float]
    seconds: float
    warm_up: float
    period: float = PERIOD
    kind: str = SWITCH
    seed: int = 1


@dataclass(frozen=True, eq=False)
class WordCountResult:
    """The result of a run.

    Attributes:
        bounds: latency bounds of Split and Count, in seconds.
        success: success by operator, averaged over shards.
        path: end-to-end success.
        slots: mean number of slots by operator.
        latencies: mean latency in seconds of every second, by operator.
    """

    bounds: tuple[float, float]
    success: Mapping[str, float]
    path: float
    slots: Mapping[str, float]
    latencies: Mapping[str, Floats]


def sentences(words: Words) -> WordCount:
    """Return the sentences that arrive at Split."""
    return WordCount(SENTENCES, AMPLITUDE, words.period, SHARDS, WORDS, scale=SCALE, seed=words.seed)


def engine(words: Words, pause: Pause) -> Samza:
    """Return an engine that runs Split and Count on the paper's four machines."""
    load, rows = sentences(words), SCALE * SENTENCES
    split = Operator(SPLIT, SHARDS, SPLIT_SLOTS / rows, selectivity=WORDS, state_bytes=0.0)
    cost, weights = COUNT_SLOTS / (WORDS * rows), load.count_weights(SHARDS)
    count = Operator(COUNT, SHARDS, cost, state_bytes=STATE, inputs=(SPLIT,), weights=weights)
    # With a safety margin of 20%, a quarter more slots than the base rate needs.
    slots = {SPLIT: round(1.25 * SPLIT_SLOTS), COUNT: round(1.25 * COUNT_SLOTS)}
    plan = Plan({name: OperatorPlan.even(SHARDS, n, NODES) for name, n in slots.items()}, NODES)
    costs = Costs(queue=UNBOUNDED, pair_sync=SAMZA)
    arguments = Job((split, count)), Cluster(NODES, CORES), load, plan, words.seed, Timing(0.1, 0.1), costs
    return Samza(*arguments, pause=pause, room=SHARDS)


def run_word_count(words: Words) -> WordCountResult:
    """Run word count under StreamSwitch and return the result."""
    bounds = dict(zip((SPLIT, COUNT), words.bounds, strict=True))
    decides = policy(words.kind, MARGIN, window=WINDOW)
    assert isinstance(decides, StreamSwitch)
    sums: dict[str, list[tuple[float, float]]] = {SPLIT: [], COUNT: []}

    def look(seen: Interval) -> None:
        if seen.observation.time > words.warm_up:
            for name, each in sums.items():
                each.append((float(seen.waited[name].sum()), float(seen.done[name].sum())))

    simulation = Simulation(
        engine(words, decides.pause),
        replace(decides, bounds=bounds),
        bound=LatencyBound(1.0, WINDOW, bounds, TOTAL),
        warm_up=words.warm_up,
    )
    trace = simulation.run(words.warm_up + words.seconds, look)
    return WordCountResult(
        words.bounds,
        {name: trace.mean_success(name) for name in bounds},
        trace.end_to_end,
        {name: trace.mean_slots(name, words.warm_up) for name in bounds},
        {name: _by_second(each) for name, each in sums.items()},
    )


def _by_second(sums: Sequence[tuple[float, float]]) -> Floats:
    """Return mean latencies by second from (summed latency, rows) by tenth of a second."""
    values = np.array(sums)[: len(sums) // 10 * 10].reshape(-1, 10, 2).sum(axis=1)
    means: Floats = values[:, 0] / np.maximum(values[:, 1], 1.0)
    return means
