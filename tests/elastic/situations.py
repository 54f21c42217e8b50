"""What the tests of policies share: every policy, a fluid world of queues that obeys plans at once, and a drive."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from rheostat.arrays import Floats
from rheostat.elastic.loop.turn import Control, turn
from rheostat.elastic.model.observation import Observation, OperatorObservation
from rheostat.elastic.model.plan import OperatorPlan, Plan
from rheostat.elastic.model.policy import Policy
from rheostat.elastic.policies import (
    POLICIES,
    Drs,
    DrsLb,
    Elasticutor,
    LiveElysium,
    LiveJointScaling,
    ResourceCentric,
    StreamSwitch,
)
from rheostat.simulate.continuous.engine import Continuous
from rheostat.simulate.epochs import Epochs
from rheostat.simulate.job import Cluster, Costs, Job, Operator
from rheostat.workloads.arrivals import Workload

EVERY: dict[str, Callable[[], Policy]] = {
    **{name: found.make for name, found in POLICIES.items()},
    "elysium": partial(LiveElysium, period=1.0),  # the intervals here are a second long
    "elysium-proactive": partial(LiveElysium, period=1.0, proactive=True, name="elysium-proactive"),
    "joint-scaling": partial(LiveJointScaling, period=1.0),
    "elasticutor-hybrid": Elasticutor.hybrid,
    "elasticutor-epochs": partial(Elasticutor, bound=0.5, overhead=0.1),
    "elasticutor-published": Elasticutor.published,
    "resource-centric-published": ResourceCentric.published,
    "streamswitch-path": partial(StreamSwitch, end_to_end=1.0),
    "streamswitch-published": StreamSwitch.published,
    "drs-published": Drs.published,
    "drs-lb-published": DrsLb.published,
}
EXECUTORS = ("elasticutor", "naive-ec", "elasticutor-hybrid", "elasticutor-epochs", "elasticutor-published")

FIXED = ("static", "balance")
"""Policies that leave the number of slots alone."""

PUBLISHED = ("elasticutor-published", "resource-centric-published")
"""As the papers have them, without the rules that keep cores and shards from going to and fro."""


def crossed(*broken: str, reason: str = "", but: Sequence[str] = ()) -> pytest.MarkDecorator:
    """Every policy; those that are broken have to fail, for the reason given."""
    mark = pytest.mark.xfail(strict=True, reason=reason)
    names = [name for name in EVERY if name not in but]
    return pytest.mark.parametrize("name", [pytest.param(n, marks=mark if n in broken else ()) for n in names])


def begun(
    policy: Policy, operators: Sequence[str] = ("work",), shards: int = 16, slots: int = 4, nodes: int = 2
) -> Plan:
    """A plan to begin with: elastic executors for those who have them."""
    make = OperatorPlan.elastic if isinstance(policy, Elasticutor) else OperatorPlan.even
    return Plan({name: make(shards, slots, nodes) for name in operators}, nodes)


@dataclass
class Fluid:
    """Queues without chance: every slot serves its shards in proportion to what waits, and plans come true at once.

    Attributes:
        rates: rows per second by operator and shard; ``service``, rows per second of one slot.
        cores: of every node; slots of a node without cores do nothing.
    """

    plan: Plan
    rates: dict[str, Floats]
    cores: npt.NDArray[np.int64]
    service: float = 100.0
    seconds: float = 1.0
    epoch: int = 0

    def __post_init__(self) -> None:
        self.arrived = {name: np.zeros(len(rates)) for name, rates in self.rates.items()}
        self.completed = {name: np.zeros(len(rates)) for name, rates in self.rates.items()}

    def waiting(self) -> float:
        """Rows that wait."""
        return float(sum((self.arrived[name] - self.completed[name]).sum() for name in self.rates))

    def step(self) -> Observation:
        """One interval."""
        self.epoch += 1
        found = {name: self._served(name, plan) for name, plan in self.plan.operators.items()}
        outside = float(sum(rates.sum() for rates in self.rates.values()))
        time = self.epoch * self.seconds
        return Observation(
            time=time,
            seconds=self.seconds,
            operators=found,
            cores=self.cores.copy(),
            external=outside,
            wanted=outside,
            epoch=self.epoch,
        )

    def _served(self, name: str, plan: OperatorPlan) -> OperatorObservation:
        self.arrived[name] = self.arrived[name] + self.rates[name] * self.seconds
        waiting = self.arrived[name] - self.completed[name]
        load = np.bincount(plan.routing, weights=waiting, minlength=len(plan.nodes))
        alive = (plan.nodes >= 0) & (self.cores[np.clip(plan.nodes, 0, None)] > 0)
        share = np.minimum(1.0, np.where(alive, self.service * self.seconds, 0.0) / np.maximum(load, 1e-9))
        done = waiting * share[plan.routing]
        self.completed[name] = self.completed[name] + done
        return OperatorObservation(
            plan=plan,
            arrived=self.arrived[name],
            completed=self.completed[name],
            useful=load * share / self.service,
            latency=np.where(done > 0, 0.01, np.nan),
            traffic=done * 256.0 / self.seconds,
            state=np.full(len(done), 32e3),
        )


def world(policy: Policy, rate: float, cores: Sequence[int] = (8, 8), **plan: Any) -> Fluid:
    """A fluid world in which all shards have the same rate."""
    first = begun(policy, nodes=len(cores), **plan)
    rates = {name: np.full(len(p.routing), rate) for name, p in first.operators.items()}
    return Fluid(first, rates, np.array(cores))


def driven(policy: Policy, fluid: Fluid, steps: int, control: Control | None = None) -> Iterator[tuple[int, Plan]]:
    """Let the policy decide for so many intervals; every request, and the interval it was made in."""
    control = control or Control.start(policy, fluid.plan)
    for number in range(1, steps + 1):
        result = turn(control, fluid.step(), fluid.plan)
        control = result.control
        if result.request is not None:
            fluid.plan = result.request
            yield number, result.request


def kept_all(plan: Plan) -> bool:
    """Whether every shard is routed to a slot that is in use."""
    return all(
        p.routing.min() >= 0 and p.routing.max() < len(p.nodes) and bool((p.nodes[p.routing] >= 0).all())
        for p in plan.operators.values()
    )


def fits(plan: Plan, cores: npt.NDArray[np.int64]) -> bool:
    """Whether no node has more slots than cores."""
    return bool((plan.cores(len(cores)) <= cores).all())


def frozen(value: Any) -> Any:
    """All that a value consists of, in a form that can be compared; arrays by their bytes."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if is_dataclass(value) and not isinstance(value, type):
        return type(value).__name__, tuple((f.name, frozen(getattr(value, f.name))) for f in fields(value))
    if isinstance(value, Mapping):
        return tuple((key, frozen(item)) for key, item in value.items())
    if isinstance(value, tuple | list):
        return tuple(frozen(item) for item in value)
    return repr(value)  # the same also for NaN


def small_engine(
    policy: Policy, workload: Workload, operators: int = 1, slots: int = 2, cost: float = 0.01, **more: Any
) -> Continuous:
    """A cluster of four nodes with four cores, and operators whose rows have random costs, 10 ms on average."""
    names = [f"op{i}" for i in range(operators)]
    job = Job(
        tuple(Operator(n, workload.shards, cost, 1.0, inputs=(names[i - 1],) if i else ()) for i, n in enumerate(names))
    )
    plan = begun(policy, names, workload.shards, slots, 4)
    return Continuous(job, Cluster(4, 4), workload, plan, pause=policy.pause, **{"costs": Costs(queue=10**9), **more})


def small_epochs(policy: Policy, workload: Workload, slots: int = 2, cost: float = 0.01) -> Epochs:
    """The same cluster and one operator in the micro-batch engine."""
    job = Job((Operator("op0", workload.shards, cost),))
    return Epochs(job, Cluster(4, 4), workload, begun(policy, ["op0"], workload.shards, slots, 4))
