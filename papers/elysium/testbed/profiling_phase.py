"""The profiling phase: a variable load for 30 minutes, recorded, and profiles learned from the record (section 5.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from papers.elysium.testbed import curves
from papers.elysium.testbed.cluster import Habits, StormCluster
from papers.elysium.testbed.flow import RowFlow
from papers.elysium.testbed.metric_store import BANDWIDTH, MEMORY, MetricStore
from papers.elysium.testbed.monitor import batch
from papers.elysium.testbed.topologies import NODE, Model
from rheostat.elastic.elysium.configuration import Config
from rheostat.elastic.elysium.dataflow import ScalableOperator
from rheostat.elastic.elysium.estimator import Estimator, Profiles
from rheostat.elastic.elysium.forecasts.series import Forecast
from rheostat.elastic.elysium.profiles.profile import Line, learned, per_row
from rheostat.elastic.elysium.profiles.selectivity import selectivities


@dataclass(frozen=True)
class Stretch:
    """Ten minutes of profiling: the slots of every operator, the nodes, and the loads, as shares of the peak load.

    Attributes:
        slots: None for as few as can carry the peak load.
    """

    slots: int | None
    nodes: int
    low: float
    high: float


STRETCHES = (Stretch(1, 2, 0.03, 0.36), Stretch(2, 1, 0.03, 0.40), Stretch(None, 4, 0.15, 1.0))
"""One that fills the core of the heaviest operator, one that fills a node, and one that fills the cores of all.

A network flattens out above the rates it has seen. Where a light operator's slot was never seen at the full load, one
slot of it would seem enough for any.
"""


def record(
    models: Mapping[str, Model], peaks: Mapping[str, float], store: MetricStore, seed: int, seconds: int = 600
) -> None:
    """Run every topology alone, stretch after stretch, and write what monitoring sees."""
    rng, habits, start = np.random.default_rng(seed), Habits(), 0.0
    for topology, model in models.items():
        for stretch in STRETCHES:
            slots = {o.name: stretch.slots or fewest(model, o, peaks[topology]) for o in model.dataflow.operators}
            config = Config({topology: slots}, stretch.nodes)
            cluster = StormCluster({topology: model}, config, habits, rng)
            load = curves.stair(seconds, stretch.low * peaks[topology], stretch.high * peaks[topology])
            store.record(batch(cluster, cluster.run(load[:, None]), start, rng, habits.noise))
            start += seconds + 60


def fewest(model: Model, operator: ScalableOperator, load: float) -> int:
    """Slots of an operator that can just carry a load, each with a core of its own.

    >>> from papers.elysium.testbed.topologies import T1_PEAK, rolling_top_words
    >>> t1 = rolling_top_words()
    >>> [fewest(t1, operator, T1_PEAK) for operator in t1.dataflow.operators]
    [1, 2, 3, 2, 1, 1]
    """
    rates = model.per_row()[operator.name] * load / np.arange(operator.least, operator.most + 1)
    enough = model.costs[operator.name].at(rates) <= 0.95 * NODE.hertz
    return operator.least + int(enough.argmax()) if enough.any() else operator.most


def learn(models: Mapping[str, Model], store: MetricStore, seed: int, folds: int = 10) -> Estimator:
    """Profiles of all topologies, with the paper's networks; memory is a straight line, and rows have a mean size."""
    profiles = {}
    for topology, model in models.items():
        names = [operator.name for operator in model.dataflow.operators]
        selectivity = {stream: found.mean for stream, found in selectivities(store.traffic(topology)).items()}
        sizes = {name: per_row(store.slot_uses(topology, name, BANDWIDTH)) for name in names}
        profiles[topology] = Profiles(
            model.dataflow,
            selectivity,
            {name: learned(store.slot_uses(topology, name), seed, folds) for name in names},
            {name: Line.fitted(store.slot_uses(topology, name, MEMORY)) for name in names},
            {stream: sizes[stream[1]] for stream in selectivity},
        )
    return Estimator(profiles, learned(store.node_uses(), seed, folds), NODE)


def with_forecasts(estimator: Estimator, forecasts: Mapping[str, Forecast]) -> Estimator:
    """The same estimator, which now also knows how the input load of some topologies goes on."""
    profiles = {
        topology: replace(known, forecast=forecasts.get(topology, known.forecast))
        for topology, known in estimator.topologies.items()
    }
    return replace(estimator, topologies=profiles)


def steady(model: Model, config: Config, load: float, seconds: int = 60) -> RowFlow:
    """What a topology does alone under a constant load, from the first second on."""
    cluster = StormCluster({model.dataflow.name: model}, config, Habits(), np.random.default_rng(0))
    return cluster.run(np.full((seconds, 1), load))
