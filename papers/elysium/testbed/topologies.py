"""The two topologies of ELYSIUM's evaluation (section 5.1) and the true costs of their operators.

The paper gives T1's selectivities (Table 2), and says that StopWordFilter is its heaviest operator, that T1 has six
executors at a parallelism of 1, and that one node can process 200 rows per second. It gives no costs. They are chosen
here so that loads need between one node and the paper's four. The cost per row falls a little with the rate, as if rows
were batched; a straight line would make learning trivial. The paper gives neither row sizes nor memory, which are part
of its future work. They are chosen so that at some loads T2's language models, and not its CPU, decide how many nodes
are needed.
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
"""The paper's machine."""
MOST_NODES = 4
"""Nodes of the paper's cluster."""
BASE, SHARE, BEND = 0.3 * NODE.hertz, 1.35, 0.02 / NODE.hertz
"""CPU of a node as a polynomial of its slots' CPU: constant, linear and square coefficients."""


@dataclass(frozen=True)
class Cost:
    """Cycles per second of a slot: ``idle + cycles * rate * (1 - discount * rate / (rate + half))``.

    Attributes:
        idle: cycles per second without input.
        cycles: cycles per row at a low rate.
        discount: share by which a row becomes cheaper at a very high rate.
        half: rows per second at which half of that discount is reached.

    >>> import numpy as np
    >>> Cost(idle=1e6, cycles=1e6, discount=0.1, half=100.0).at(np.array([100.0]))
    array([96000000.])
    """

    idle: float
    cycles: float
    discount: float = 0.0
    half: float = 1.0

    def at(self, rates: Floats) -> Floats:
        """Return the cycles per second that a slot uses at these rates."""
        return self.idle + self.cycles * rates * (1 - self.discount * rates / (rates + self.half))


@dataclass(frozen=True)
class Model:
    """A topology and its true behaviour, which ELYSIUM's profiles have to learn.

    Attributes:
        dataflow: operators and streams.
        selectivity: rows sent per row received, by stream, where the rate of the stream follows the input.
        costs: CPU of one slot, by operator.
        wobble: standard deviation of the selectivity, by stream.
        ticks: rows per second that one slot sends whatever it receives, by stream.
        memory: bytes that one slot keeps as a function of its rate, by operator.
        row_bytes: size of a row, by stream, including the input from outside. All streams into an operator have rows
            of the same size.
    """

    dataflow: Dataflow
    selectivity: Mapping[Stream, float]
    costs: Mapping[str, Cost]
    wobble: Mapping[Stream, float] = field(default_factory=dict)
    ticks: Mapping[Stream, float] = field(default_factory=dict)
    memory: Mapping[str, Cost] = field(default_factory=dict)
    row_bytes: Mapping[Stream, float] = field(default_factory=dict)

    def per_row(self) -> dict[str, float]:
        """Return the rows that every operator receives per row of input; periodic rows are not included."""
        selectivity = {stream: self.selectivity.get(stream, 0.0) for stream in self.dataflow.streams}
        return self.dataflow.rates(1.0, selectivity)

    def constant(self, parallelism: Mapping[str, int]) -> dict[str, float]:
        """Return the rows per second that every operator receives whatever the input is: the periodic rows."""
        rates = dict.fromkeys(self.dataflow.order, 0.0)
        for name in self.dataflow.order:
            for stream in self.dataflow.streams:
                if stream[0] == name:
                    sent = self.ticks.get(stream, 0.0) * parallelism[name]
                    rates[stream[1]] += sent + rates[name] * self.selectivity.get(stream, 0.0)
        return rates


def overhead(used: Floats) -> Floats:
    """Return the cycles per second of a node whose slots use ``used`` cycles per second together (Fig. 8).

    A node also moves and acknowledges rows, and manages threads.

    >>> import numpy as np
    >>> round(float(overhead(np.array([2 * NODE.hertz]))[0] / NODE.hertz), 2)
    3.08
    """
    return BASE + SHARE * used + BEND * used * used


def _costs(cores: Mapping[str, float], per_row: Mapping[str, float], peak: float) -> dict[str, Cost]:
    """Return costs with which all slots of an operator together use about the given number of cores at peak load."""
    costs = {}
    for name, used in cores.items():
        rate = max(per_row[name] * peak, 1.0)
        costs[name] = Cost(0.01 * NODE.hertz, used * NODE.hertz / rate / 0.96, 0.08, rate / 4)
    return costs


def _chain(name: str, *operators: str) -> Dataflow:
    return Dataflow(name, tuple(ScalableOperator(operator) for operator in operators), tuple(pairwise(operators)))


def _memory(mebibytes: Mapping[str, float], per_rate: Mapping[str, float] | None = None) -> dict[str, Cost]:
    """Return the memory of one slot of every operator.

    Args:
        mebibytes: memory without input, by operator.
        per_rate: further bytes for every row per second, by operator.
    """
    return {name: Cost(size * 2**20, (per_rate or {}).get(name, 0.0)) for name, size in mebibytes.items()}


T1_PEAK, T2_PEAK = 700.0, 400.0
"""Rows per second at which a topology needs all four nodes."""


def rolling_top_words() -> Model:
    """Return T1: it splits tweets into words, drops stop words, counts the others and ranks them in two steps.

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
    return Model(
        dataflow=flow,
        selectivity=selectivity,
        costs=_costs(cores, per_row, T1_PEAK),
        wobble=wobble,
        ticks=ticks,
        memory=kept,
        row_bytes=sizes,
    )


def sentiment() -> Model:
    """Return T2: it tokenises, cleans and tags tweets, extracts features and classifies them.

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
