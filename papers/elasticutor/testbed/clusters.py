"""The simulated clusters of Elasticutor's evaluation: the micro-benchmark (section 5.1) and the exchange (5.4).

What the paper does not print is chosen here and said with the claims: how long slots queue (256 rows), how often plans
are made (every half second), what the operators of the exchange cost, and how many executors they have.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rheostat.elastic.model.plan import OperatorPlan, Plan, Subspaces
from rheostat.elastic.model.policy import Pause, Policy
from rheostat.elastic.policies import Elasticutor, ResourceCentric, Static
from rheostat.simulate.continuous.engine import Continuous
from rheostat.simulate.job import Cluster, Costs, Job, Operator, Timing
from rheostat.simulate.simulation import Simulation
from rheostat.simulate.trace import Trace
from rheostat.workloads.market import ORDER_BYTES, TRANSACTION_BYTES, SaturatedMarket
from rheostat.workloads.micro import COST, SHARD_STATE_BYTES, TUPLE_BYTES, Micro

CORES = 8
SHARDS = 8192
"""Of an operator, in all approaches."""

INTERVAL = 0.5
"""Seconds between two plans, for all policies."""

TRANSACTOR, STATISTIC, EVENT = 1e-4, 3e-4, 6e-5
"""Seconds of a core per row of the exchange's operators; with them 32 nodes can take about 220,000 orders a second."""

TRADES = 0.5
"""Transactions per order."""

FULL, USUAL = (1.3, 0.0), (0.7, 1.0)
"""Offered rows over what all cores could do, and seconds that they wait in front of a source that is held back: as many
rows as go through, to measure throughput, and as many as the cores can take, to measure latency."""

EVEN = 1.1
"""Imbalance above which shards move in the exchange, with our rules; the paper has 1.2."""

STOPPING = "30 ms to stop an upstream executor"
"""What was chosen by us where the resource-centric approach stops: the paper's figure says that its synchronisation
takes two to three orders of magnitude longer than Elasticutor's 2 ms."""

LOADED = "70 % load, and a source that keeps a second of rows"
"""What was chosen by us where latency is measured."""

MARKET = (
    "costs of operators; as many cores for every operator (static); no stock above 3 % of the orders; popularity that "
    "changes every 8 s"
)
"""What was chosen by us where orders are traded."""

EXCHANGE = (
    "The paper prints neither what operators cost nor how many executors they have. Ours: 0.1 ms for the transactor, "
    "0.3 and 0.06 ms for statistics and events, one transaction for two orders; the static approach has as many cores "
    "for every operator; no stock has more than 3 % of the orders at once."
)
"""Details of claims about the exchange."""


def policies() -> dict[str, Policy]:
    """The paper's three approaches, as the paper has them."""
    return {"static": Static(), "resource-centric": ResourceCentric.published(), "elasticutor": Elasticutor.published()}


@dataclass(frozen=True)
class MicroRun:
    """One run of the micro-benchmark.

    Attributes:
        policy: who decides.
        nodes: how many there are.
        omega: shuffles of the keys a minute.
        seconds: how long it runs.
        warm_up: seconds that do not count.
        executors: of the operator: the paper's y.
        shards: per executor: z. The other policies have 8192 in all.
        cost: seconds of a core per row.
        size: bytes of a row.
        state: bytes of a shard.
        load: offered rows over what all cores can do.
        patience: seconds that rows wait for a source that is held back.
        upstream: executors that send rows.
        cores: of a node.
        most: rows per second that are offered at most.
        spread: True if executors begin with all cores, not with one each.
        seed: everything random follows from it.
    """

    policy: Policy
    nodes: int = 32
    omega: float = 2.0
    seconds: float = 80.0
    warm_up: float = 20.0
    executors: int = 32
    shards: int = 256
    cost: float = COST
    size: float = TUPLE_BYTES
    state: float = SHARD_STATE_BYTES
    load: float = 1.3
    patience: float = 0.0
    upstream: int = 32
    cores: int = CORES
    most: float = 3e6
    spread: bool = False
    seed: int = 1

    @cached_property
    def engine(self) -> Continuous:
        """The simulated cluster before the first row."""
        total = self.nodes * self.cores
        elastic = self.policy.pause is Pause.SHARD
        executors, each = (self.executors, self.shards) if elastic else (32, 256)
        rate = min(self.load * total / self.cost, self.most)
        workload = Micro(rate, omega=self.omega, executors=executors, shards_per_executor=each, seed=self.seed)
        shards = workload.shards
        job = Job((Operator("calculator", shards, self.cost, 1.0, self.size, 0.0, self.state),))
        if elastic:
            plan = OperatorPlan.elastic(shards, executors, self.nodes, room=max(total, executors))
            plan = _spread(plan, total, self.nodes) if self.spread else plan
        else:
            plan = OperatorPlan.even(shards, min(total, shards), self.nodes)
        # A tick is short against the time that a queue lasts, or full queues would stop their senders for too long.
        tick = min(0.01, 32 * self.cost)
        return Continuous(
            job,
            Cluster(self.nodes, self.cores),
            workload,
            Plan({"calculator": plan}, self.nodes),
            seed=self.seed,
            timing=Timing(INTERVAL / max(1, round(INTERVAL / tick)), INTERVAL),
            costs=Costs(upstream=self.upstream),
            pause=self.policy.pause,
            patience=self.patience,
            room=2 * max(total, executors),  # a number is not used again on another node at once
        )

    def trace(self) -> Trace:
        """Run it."""
        return Simulation(self.engine, self.policy, warm_up=self.warm_up).run(self.seconds)


@dataclass(frozen=True)
class ExchangeRun:
    """One run of the exchange: a transactor, six operators for statistics and five for events (figure 14).

    Attributes:
        policy: who decides.
        nodes: how many there are.
        seconds: how long it runs.
        warm_up: seconds that do not count.
        load: offered orders over what all cores could do if nothing were uneven.
        patience: seconds that orders wait for a source that is held back.
        seed: everything random follows from it.
        block: seconds after which the popularity of stocks changes, besides bursts.
    """

    policy: Policy
    nodes: int = 32
    seconds: float = 45.0
    warm_up: float = 5.0
    load: float = 1.3
    patience: float = 0.0
    seed: int = 1
    block: float = 8.0

    @property
    def capacity(self) -> float:
        """Orders per second that keep all cores busy."""
        return self.nodes * CORES / (TRANSACTOR + TRADES * (6 * STATISTIC + 5 * EVENT))

    @property
    def job(self) -> Job:
        """Figure 14."""
        operators = [Operator("transactor", 8192, TRANSACTOR, 1.0, ORDER_BYTES, TRANSACTION_BYTES, selectivity=TRADES)]
        for place in range(11):
            kind, cost = ("statistic", STATISTIC) if place < 6 else ("event", EVENT)
            operators.append(
                Operator(f"{kind}{place}", 2048, cost, 1.0, TRANSACTION_BYTES, 0.0, inputs=("transactor",))
            )
        return Job(tuple(operators))

    @property
    def plan(self) -> Plan:
        """Executors one after the other on the nodes; without elastic ones every operator has as many cores."""
        total, first, plans = self.nodes * CORES, 0, {}
        for place, operator in enumerate(self.job.operators):
            if self.policy.pause is Pause.SHARD:
                count = max(1, self.nodes // (4 if place == 0 else 8))
                plans[operator.name] = OperatorPlan.elastic(operator.shards, count, self.nodes, total, first)
            else:
                count = max(1, total // len(self.job.operators))
                plans[operator.name] = OperatorPlan.even(operator.shards, count, self.nodes, first)
            first += count
        return Plan(plans, self.nodes)

    @cached_property
    def engine(self) -> Continuous:
        """The simulated cluster before the first order."""
        return Continuous(
            self.job,
            Cluster(self.nodes, CORES),
            SaturatedMarket(self.load * self.capacity, block=self.block, seed=self.seed),
            self.plan,
            seed=self.seed,
            timing=Timing(0.002, INTERVAL),
            pause=self.policy.pause,
            patience=self.patience,
            room=self.nodes * CORES + 64,
        )

    def trace(self) -> Trace:
        """Run it."""
        return Simulation(self.engine, self.policy, warm_up=self.warm_up).run(self.seconds)


def _spread(plan: OperatorPlan, cores: int, nodes: int) -> OperatorPlan:
    """Every executor with as many cores, from its own node on."""
    assert plan.subspaces is not None
    owned, count = plan.subspaces, len(plan.subspaces.homes)
    owners = np.arange(cores) * count // cores
    places = (owned.homes[owners] + (np.arange(cores) - np.searchsorted(owners, owners)) // (cores // nodes)) % nodes
    within = np.arange(len(owned.executors)) - np.searchsorted(owned.executors, owned.executors)
    first, each = np.searchsorted(owners, owned.executors), np.bincount(owners, minlength=count)[owned.executors]
    size = np.bincount(owned.executors, minlength=count)[owned.executors]
    return OperatorPlan(first + within * each // size, places, Subspaces(owned.executors, owners, owned.homes))


def orders(trace: Trace, warm_up: float) -> float:
    """Orders per second that entered: each leaves as several rows, one for every operator at the end."""
    return float(np.mean(trace.admitted[trace.after(warm_up)]))
