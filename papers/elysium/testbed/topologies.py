"""The two topologies of ELYSIUM's evaluation, with what their operators really cost (section 5.1).

The paper prints T1's selectivities (Table 2), that StopWordFilter is its heaviest operator, that six executors run with
a parallelism of 1, and that 200 rows per second fit on one node. It prints no costs. They are chosen here so that the
whole range from one node to the paper's four is used, and bent a little, because larger batches cost less per row; a
straight line would make learning trivial. Nor does it print sizes of rows or what slots keep in memory, which are part
of its future work: they are chosen so that T2's language models, not its CPU, decide how many nodes some loads need.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from rheostat.arrays import Floats
from rheostat.elastic.elysium.configuration import NodeType
from rheostat.elastic.elysium.dataflow import Dataflow, ScalableOperator
from rheostat.elastic.elysium.profiles.samples import INPUT, Stream

NODE = NodeType()
MOST_NODES = 4
BASE, SHARE, BEND = 0.3 * NODE.hertz, 1.35, 0.02 / NODE.hertz
"""A node's overhead: what it uses at rest, per use of its slots, and per square of that."""


@dataclass(frozen=True)
class Cost:
    """Cycles per second of a slot: ``idle + cycles * rate * (1 - discount * rate / (rate + half))``.

    >>> import numpy as np
    >>> Cost(idle=1e6, cycles=1e6, discount=0.1, half=100.0).at(np.array([100.0]))
    array([96000000.])
    """

    idle: float
    cycles: float
    discount: float = 0.0
    half: float = 1.0

    def at(self, rates: Floats) -> Floats:
        """What a slot uses at these rates."""
        return self.idle + self.cycles * rates * (1 - self.discount * rates / (rates + self.half))


@dataclass(frozen=True)
class Model:
    """A topology as it really behaves.

    Attributes:
        selectivity: of the streams whose rate follows what arrives; ``wobble``, their standard deviation.
        ticks: rows per second and slot of the streams that are sent periodically, whatever arrives.
        costs: of one slot, by operator.
        memory: bytes that one slot keeps, as a function of its rate like its cost.
        row_bytes: by stream, the streams from outside among them; all streams into an operator have rows of one size.
    """

    dataflow: Dataflow
    selectivity: Mapping[Stream, float]
    costs: Mapping[str, Cost]
    wobble: Mapping[Stream, float] = field(default_factory=dict)
    ticks: Mapping[Stream, float] = field(default_factory=dict)
    memory: Mapping[str, Cost] = field(default_factory=dict)
    row_bytes: Mapping[Stream, float] = field(default_factory=dict)

    def per_row(self) -> dict[str, float]:
        """Rows that every operator receives per row of input, as far as they follow the input."""
        known = {stream: self.selectivity.get(stream, 0.0) for stream in self.dataflow.streams}
        return self.dataflow.rates(1.0, known)

    def constant(self, parallelism: Mapping[str, int]) -> dict[str, float]:
        """Rows per second that every operator receives, whatever the input is."""
        found = dict.fromkeys(self.dataflow.order, 0.0)
        for name in self.dataflow.order:
            for stream in self.dataflow.streams:
                if stream[0] == name:
                    sent = self.ticks.get(stream, 0.0) * parallelism[name]
                    found[stream[1]] += sent + found[name] * self.selectivity.get(stream, 0.0)
        return found


def overhead(used: Floats) -> Floats:
    """Cycles per second of a node whose slots use so much: moving rows, acknowledging them, managing threads (Fig. 8).

    >>> import numpy as np
    >>> round(float(overhead(np.array([2 * NODE.hertz]))[0] / NODE.hertz), 2)
    3.08
    """
    return BASE + SHARE * used + BEND * used * used


def _costs(cores: Mapping[str, float], per_row: Mapping[str, float], peak: float) -> dict[str, Cost]:
    """Costs with which all slots of an operator together use about so many cores at the peak load."""
    found = {}
    for name, used in cores.items():
        rate = max(per_row[name] * peak, 1.0)
        found[name] = Cost(0.01 * NODE.hertz, used * NODE.hertz / rate / 0.96, 0.08, rate / 4)
    return found


def _chain(name: str, *operators: str) -> Dataflow:
    return Dataflow(name, tuple(ScalableOperator(operator) for operator in operators), tuple(pairwise(operators)))


def _memory(mebibytes: Mapping[str, float], per_rate: Mapping[str, float] | None = None) -> dict[str, Cost]:
    """What one slot of every operator keeps, and what it keeps more for every row per second."""
    return {name: Cost(size * 2**20, (per_rate or {}).get(name, 0.0)) for name, size in mebibytes.items()}


T1_PEAK, T2_PEAK = 700.0, 400.0
"""Rows per second at which all four nodes are needed."""


def rolling_top_words() -> Model:
    """T1: tweets are split into words, stop words dropped, the others counted and ranked in two steps.

    >>> t1 = rolling_top_words()
    >>> len(t1.dataflow.operators), round(t1.per_row()["Counter"], 2)
    (6, 12.14)
    """
    names = ("Reader", "WordGenerator", "StopWordFilter", "Counter", "IntermediateRanker", "TotalRanker")
    flow = _chain("T1", *names)
    selectivity = {
        ("Reader", "WordGenerator"): 1.0,
        ("WordGenerator", "StopWordFilter"): 17.86,
        ("StopWordFilter", "Counter"): 0.68,
        ("IntermediateRanker", "TotalRanker"): 0.01,
    }
    wobble = {("WordGenerator", "StopWordFilter"): 0.54, ("StopWordFilter", "Counter"): 0.02}
    ticks = {("Counter", "IntermediateRanker"): 660.0}
    cores = {
        "Reader": 0.9,
        "WordGenerator": 1.35,
        "StopWordFilter": 2.5,
        "Counter": 1.35,
        "IntermediateRanker": 0.05,
        "TotalRanker": 0.01,
    }
    per_row = flow.rates(1.0, {**selectivity, ("Counter", "IntermediateRanker"): 0.2})
    sizes = dict(zip(((INPUT, names[0]), *flow.streams), (2_500.0, 400.0, 40.0, 40.0, 60.0, 600.0), strict=True))
    kept = _memory(dict(zip(names, (120, 100, 110, 160, 90, 90), strict=True)), {"Counter": 60 * 64.0})
    return Model(flow, selectivity, _costs(cores, per_row, T1_PEAK), wobble, ticks, kept, sizes)


def sentiment() -> Model:
    """T2: tweets are tokenised, cleaned, tagged, turned into features and classified.

    >>> [operator.name for operator in sentiment().dataflow.operators][3]
    'PosTagger'
    """
    names = ("Reader", "Tokenizer", "Preprocessor", "PosTagger", "FeatureGenerator", "Classifier")
    flow = _chain("T2", *names)
    selectivity = dict.fromkeys(flow.streams, 1.0)
    cores = {
        "Reader": 0.7,
        "Tokenizer": 0.8,
        "Preprocessor": 0.9,
        "PosTagger": 2.5,
        "FeatureGenerator": 1.1,
        "Classifier": 0.6,
    }
    costs = _costs(cores, flow.rates(1.0, selectivity), T2_PEAK)
    sizes = dict(zip(((INPUT, names[0]), *flow.streams), (2_500.0, 400.0, 900.0, 800.0, 1_600.0, 300.0), strict=True))
    kept = _memory(dict(zip(names, (120, 150, 150, 1200, 350, 500), strict=True)))
    return Model(flow, selectivity, costs, memory=kept, row_bytes=sizes)
