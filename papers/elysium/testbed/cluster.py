"""A simulated Storm cluster like the one of ELYSIUM's evaluation (section 5): it runs topologies and restarts them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from papers.elysium.testbed.flow import RowFlow, SlotArrays, flow
from papers.elysium.testbed.topologies import BASE, BEND, NODE, SHARE, Model
from rheostat.arrays import Floats
from rheostat.elastic.elysium.configuration import Config
from rheostat.elastic.elysium.plans import config_of, full_name, plan_of
from rheostat.elastic.model.plan import Plan


@dataclass(frozen=True)
class ClusterBehaviour:
    """How the cluster behaves.

    Attributes:
        restart: shortest and longest time of a restart in seconds; the paper measured 5 to 8 (section 5.2).
        settle: further seconds after a restart in which no rows are processed. The paper does not mention any, but its
            restarts alone explain only an eighth of the degradation in its Fig. 6c; these 16 s explain the rest.
        usable: share of a node's CPU that topologies can use before they slow each other down.
        time_limit: seconds in flight after which a row fails, as in Storm.
        noise: standard deviation of CPU readings, relative to the reading.
    """

    restart: tuple[float, float] = (5.0, 8.0)
    settle: float = 16.0
    usable: float = 1.0
    time_limit: float = 30.0
    noise: float = 0.015


@dataclass(frozen=True, eq=False)
class PlacedSlot:
    """A slot and its place.

    Attributes:
        topology: name of the topology.
        operator: name of the operator.
        slot: number of the slot within the operator.
        node: number of the node it runs on.
    """

    topology: str
    operator: str
    slot: int
    node: int


@dataclass(eq=False)
class StormCluster:
    """Topologies that run on nodes; an actuator for the control loop.

    Attributes:
        models: the topologies by name, in the order of the columns of every load.
        config: the configuration that runs now. The first one is placed on the nodes by round robin.
        behaviour: how the cluster behaves.
        rng: draws how long restarts take.
        restarts: how many restarts of topologies there have been.
        plan: the plan that runs now: ``config`` with the node of every slot.
    """

    models: Mapping[str, Model]
    config: Config
    behaviour: ClusterBehaviour
    rng: np.random.Generator
    restarts: int = 0

    def __post_init__(self) -> None:
        count = len(self.models)
        self._waiting, self._flying = np.zeros(count), np.zeros(count)
        self._age = np.full(count, np.inf)  # seconds since the last restart began
        self._pause = np.zeros(count)  # seconds that the last restart takes
        self._set_plan(plan_of(self.config, {name: model.dataflow for name, model in self.models.items()}))

    def apply(self, plan: Plan) -> None:
        """Switch to a plan.

        A topology restarts if slots of it are added, removed or moved; all restart if the number of nodes changes.
        """
        before = self.plan
        self._set_plan(plan)
        for topology, model in self.models.items():
            names = [full_name(topology, operator.name) for operator in model.dataflow.operators]
            same = all(plan.operators[name].same(before.operators[name]) for name in names)
            if not same or plan.nodes != before.nodes:
                self.restart(topology)

    def restart(self, topology: str) -> None:
        """Stop a topology and start it again; its rows in flight go back to the queue."""
        number = list(self.models).index(topology)
        self._age[number], self._pause[number] = 0.0, self.rng.uniform(*self.behaviour.restart) + self.behaviour.settle
        self.restarts += 1

    def run(self, arrivals: Floats) -> RowFlow:
        """Run for as many seconds as there are arrivals: rows, by second and topology."""
        seconds = len(arrivals)
        up = self._age + np.arange(seconds)[:, None] >= self._pause
        machine = np.array([NODE.cores, NODE.hertz, BASE, SHARE, BEND, self.behaviour.usable])
        rows = flow(
            placed=self._slot_arrays,
            arrivals=arrivals,
            up=up,
            waiting=self._waiting,
            flying=self._flying,
            machine=machine,
            time_limit=self.behaviour.time_limit,
        )
        self._waiting, self._flying, self._age = rows.waiting[-1], rows.flying[-1], self._age + seconds
        return rows

    @property
    def places(self) -> tuple[PlacedSlot, ...]:
        """All slots, in the order of the columns of ``RowFlow.slot_cpu``."""
        return self._places

    def _set_plan(self, plan: Plan) -> None:
        self.plan, self.config = plan, config_of(plan, apart=True)
        self._places = tuple(
            PlacedSlot(topology, operator.name, slot, int(node))
            for topology, model in self.models.items()
            for operator in model.dataflow.operators
            for slot, node in enumerate(plan.operators[full_name(topology, operator.name)].nodes)
        )
        self._slot_arrays = _slot_arrays(self.models, self.config, self._places)


def _slot_arrays(models: Mapping[str, Model], config: Config, places: tuple[PlacedSlot, ...]) -> SlotArrays:
    numbers = {topology: number for number, topology in enumerate(models)}
    per_row = {t: model.per_row() for t, model in models.items()}
    constant = {t: model.constant(config.parallelism[t]) for t, model in models.items()}
    slots = [config.parallelism[p.topology][p.operator] for p in places]
    costs = [models[p.topology].costs[p.operator] for p in places]
    return SlotArrays(
        topology=np.array([numbers[p.topology] for p in places], dtype=np.int64),
        node=np.array([p.node for p in places], dtype=np.int64),
        source=np.array([p.operator in models[p.topology].dataflow.sources for p in places], dtype=np.int64),
        share=np.array([per_row[p.topology][p.operator] / n for p, n in zip(places, slots, strict=True)]),
        constant=np.array([constant[p.topology][p.operator] / n for p, n in zip(places, slots, strict=True)]),
        costs=np.array([[c.idle, c.cycles, c.discount, c.half] for c in costs], dtype=np.float64),
        nodes=config.nodes,
    )
