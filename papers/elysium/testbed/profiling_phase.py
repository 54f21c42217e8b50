"""The profiling phase (section 5.1): run a variable load for 30 minutes and learn profiles from the readings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from papers.elysium.testbed import curves
from papers.elysium.testbed.cluster import ClusterBehaviour, StormCluster
from papers.elysium.testbed.metric_store import BANDWIDTH, MEMORY, MetricStore
from papers.elysium.testbed.monitor import monitor_run
from papers.elysium.testbed.topologies import NODE, Model
from rheostat.elastic.elysium.configuration import Config
from rheostat.elastic.elysium.dataflow import ScalableOperator
from rheostat.elastic.elysium.estimator import Estimator, Profiles
from rheostat.elastic.elysium.forecasts.series import Forecast
from rheostat.elastic.elysium.profiles.profile import Line, learned, per_row
from rheostat.elastic.elysium.profiles.selectivity import selectivities


@dataclass(frozen=True)
class Stretch:
    """Ten minutes of profiling with one configuration.

    Attributes:
        slots: slots of every operator; None for the fewest that can process the peak load.
        nodes: number of nodes.
        low: lowest load, as a share of the peak load.
        high: highest load, as a share of the peak load.
    """

    slots: int | None
    nodes: int
    low: float
    high: float


STRETCHES = (Stretch(1, 2, 0.03, 0.36), Stretch(2, 1, 0.03, 0.40), Stretch(None, 4, 0.15, 1.0))
"""The first fills the core of the heaviest operator, the second a whole node, the third the cores of all operators.

Estimates of a neural network flatten out above the rates it has seen. If the slot of a light operator were never
profiled at full load, one slot of it would seem enough for any load.
"""


def record_profiling_runs(
    models: Mapping[str, Model], peaks: Mapping[str, float], store: MetricStore, seed: int, seconds: int = 600
) -> None:
    """Run every topology alone, one stretch after the other, and write the readings to the store.

    Args:
        models: the topologies by name.
        peaks: peak load of each, in rows per second.
        store: where readings go.
        seed: seed of everything random.
        seconds: length of a stretch.
    """
    rng, behaviour, start = np.random.default_rng(seed), ClusterBehaviour(), 0.0
    for topology, model in models.items():
        for stretch in STRETCHES:
            slots = {o.name: stretch.slots or fewest_slots(model, o, peaks[topology]) for o in model.dataflow.operators}
            config = Config({topology: slots}, stretch.nodes)
            cluster = StormCluster({topology: model}, config, behaviour, rng)
            load = curves.stair(seconds, stretch.low * peaks[topology], stretch.high * peaks[topology])
            store.record(monitor_run(cluster, cluster.run(load[:, None]), start, rng, behaviour.noise))
            start += seconds + 60


def fewest_slots(model: Model, operator: ScalableOperator, load: float) -> int:
    """Return the fewest slots of an operator that can process a load if each has a core of its own.

    >>> from papers.elysium.testbed.topologies import T1_PEAK, rolling_top_words
    >>> t1 = rolling_top_words()
    >>> [fewest_slots(t1, operator, T1_PEAK) for operator in t1.dataflow.operators]
    [1, 2, 3, 2, 1, 1]
    """
    rates = model.per_row()[operator.name] * load / np.arange(operator.least, operator.most + 1)
    enough = model.costs[operator.name].at(rates) <= 0.95 * NODE.hertz
    return operator.least + int(enough.argmax()) if enough.any() else operator.most


def learn_estimator(models: Mapping[str, Model], store: MetricStore, seed: int, folds: int = 10) -> Estimator:
    """Learn the profiles of all topologies from the store.

    CPU is learned by the paper's networks, memory by a straight line, and bandwidth by a mean size of rows.
    """
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
    """Return the estimator with forecasts of the input load, by topology."""
    profiles = {
        topology: replace(profile, forecast=forecasts.get(topology, profile.forecast))
        for topology, profile in estimator.topologies.items()
    }
    return replace(estimator, topologies=profiles)
