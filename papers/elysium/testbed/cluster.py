"""A simulated cluster like the one of ELYSIUM's evaluation: it runs topologies and can be reconfigured (section 5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from papers.elysium.testbed.flow import Placed, RowFlow, flow
from papers.elysium.testbed.topologies import BASE, BEND, NODE, SHARE, Model
from rheostat.arrays import Floats
from rheostat.elastic.elysium.configuration import Config
from rheostat.elastic.elysium.plans import config_of, full_name, plan_of
from rheostat.elastic.model.plan import Plan


@dataclass(frozen=True)
class Habits:
    """How the cluster behaves.

    Attributes:
        restart: shortest and longest time in seconds for which a topology restarts when it is reconfigured; the paper
            measured 5 to 8 (section 5.2).
        settle: further seconds until rows come through again. The paper does not mention them, but the restart alone
            explains only an eighth of what it saw with one every minute (Fig. 6c); with these it is all of it.
        usable: share of a node's CPU that topologies can have before they hinder each other.
        time_limit: seconds in flight after which a row has failed, as in Storm.
        noise: standard deviation of CPU readings, relative.
    """

    restart: tuple[float, float] = (5.0, 8.0)
    settle: float = 16.0
    usable: float = 1.0
    time_limit: float = 30.0
    noise: float = 0.015


@dataclass(frozen=True, eq=False)
class PlacedSlot:
    """A slot: topology, operator, its number within the operator, and the node it is on."""

    topology: str
    operator: str
    slot: int
    node: int


@dataclass(eq=False)
class StormCluster:
    """Topologies on nodes, between two reconfigurations.

    Attributes:
        models: by topology, in the order of the columns of every load.
        config: what runs now; at first, slots are dealt out to the nodes in turn.
        plan: the same with the place of every slot.
    """

    models: Mapping[str, Model]
    config: Config
    habits: Habits
    rng: np.random.Generator
    restarts: int = 0

    def __post_init__(self) -> None:
        count = len(self.models)
        self._waiting, self._flying = np.zeros(count), np.zeros(count)
        self._age = np.full(count, np.inf)  # seconds since the last restart began
        self._pause = np.zeros(count)
        self._settle(plan_of(self.config, {name: model.dataflow for name, model in self.models.items()}))

    def apply(self, plan: Plan) -> None:
        """Run another plan from now on; topologies of which slots come, go or move restart, and all if nodes do."""
        before = self.plan
        self._settle(plan)
        for topology, model in self.models.items():
            names = [full_name(topology, operator.name) for operator in model.dataflow.operators]
            same = all(plan.operators[name].same(before.operators[name]) for name in names)
            if not same or plan.nodes != before.nodes:
                self.restart(topology)

    def restart(self, topology: str) -> None:
        """Stop a topology and start it again; the rows in flight begin anew."""
        number = list(self.models).index(topology)
        self._age[number], self._pause[number] = 0.0, self.rng.uniform(*self.habits.restart) + self.habits.settle
        self.restarts += 1

    def run(self, arrivals: Floats) -> RowFlow:
        """Let rows arrive, by second and topology."""
        seconds = len(arrivals)
        up = self._age + np.arange(seconds)[:, None] >= self._pause
        machine = np.array([NODE.cores, NODE.hertz, BASE, SHARE, BEND, self.habits.usable])
        found = flow(self._placed, arrivals, up, self._waiting, self._flying, machine, self.habits.time_limit)
        self._waiting, self._flying, self._age = found.waiting[-1], found.flying[-1], self._age + seconds
        return found

    @property
    def places(self) -> tuple[PlacedSlot, ...]:
        """Every slot, in the order of the columns of ``RowFlow.slot_cpu``."""
        return self._places

    def _settle(self, plan: Plan) -> None:
        self.plan, self.config = plan, config_of(plan, apart=True)
        self._places = tuple(
            PlacedSlot(topology, operator.name, slot, int(node))
            for topology, model in self.models.items()
            for operator in model.dataflow.operators
            for slot, node in enumerate(plan.operators[full_name(topology, operator.name)].nodes)
        )
        self._placed = _placed(self.models, self.config, self._places)


def _placed(models: Mapping[str, Model], config: Config, places: tuple[PlacedSlot, ...]) -> Placed:
    numbers = {topology: number for number, topology in enumerate(models)}
    per_row = {t: model.per_row() for t, model in models.items()}
    constant = {t: model.constant(config.parallelism[t]) for t, model in models.items()}
    slots = [config.parallelism[p.topology][p.operator] for p in places]
    costs = [models[p.topology].costs[p.operator] for p in places]
    return Placed(
        topology=np.array([numbers[p.topology] for p in places], dtype=np.int64),
        node=np.array([p.node for p in places], dtype=np.int64),
        source=np.array([p.operator in models[p.topology].dataflow.sources for p in places], dtype=np.int64),
        share=np.array([per_row[p.topology][p.operator] / n for p, n in zip(places, slots, strict=True)]),
        constant=np.array([constant[p.topology][p.operator] / n for p, n in zip(places, slots, strict=True)]),
        costs=np.array([[c.idle, c.cycles, c.discount, c.half] for c in costs], dtype=np.float64),
        nodes=config.nodes,
    )
