"""The simulated clusters of Elasticutor's evaluation: the micro-benchmark (section 5.1) and the exchange (5.4).

The paper does not print everything that a run needs. We chose the length of queues (256 rows), the time between two
plans (half a second), T_max (20 ms), the costs of the exchange's operators and how many executors they have. Every
claim that depends on such a choice names it.
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

STATIC, CENTRIC, NAIVE, ELASTIC = "static", "resource-centric", "naive-ec", "elasticutor"
"""The paper's four approaches, as figures and tables name them."""

CORES = 8
"""Cores of a node."""

SHARDS = 8192
"""Shards of an operator, in all approaches."""

INTERVAL = 0.5
"""Seconds between two plans, for all policies."""

QUEUES = "queues of 256 rows; a plan every 0.5 s"
"""Our choices in every run. The paper prints neither."""

TRANSACTOR, STATISTIC, EVENT = 1e-4, 3e-4, 6e-5
"""Core seconds per row of the exchange's three kinds of operators; 32 nodes then sustain about 220,000 orders/s."""

TRADES = 0.5
"""Transactions per order."""

FULL, USUAL = (1.3, 0.0), (0.7, 1.0)
"""Two loads, each as (offered rows over what all cores can process, seconds of rows that a blocked source keeps).

``FULL`` offers more rows than the cores can process, to measure throughput. ``USUAL`` offers 70%, to measure latency.
"""

OUR_THRESHOLD = 1.1
"""Imbalance above which our rules move shards of the exchange. The paper has 1.2."""

T_MAX = "T_max of 20 ms"
"""Our choice where latency depends on the bound of the queueing model. The paper prints no T_max."""

STOPPING = "30 ms to stop one upstream executor"
"""Our choice where the resource-centric approach stops senders. The paper's figure 9a says only that synchronisation
takes two to three orders of magnitude longer than Elasticutor's 2 ms."""

LOADED = "load of 70%; the source keeps 1 s of rows"
"""Our choices where latency is measured."""

MARKET = (
    "costs of the operators; equal numbers of cores per operator (static); no stock above 3% of the orders; popularity "
    "that changes every 8 s"
)
"""Our choices where orders are traded."""

EXCHANGE = (
    "The paper prints neither the costs of the operators nor how many executors they have. We take 0.1 ms for the "
    "transactor, 0.3 ms for statistics and 0.06 ms for events, and one transaction for two orders. The static approach "
    "has equal numbers of cores for all operators. No stock has more than 3% of the orders at once."
)
"""Details of claims about the exchange."""


def policies() -> dict[str, Policy]:
    """Return the paper's three approaches, as published."""
    return {STATIC: Static(), CENTRIC: ResourceCentric.published(), ELASTIC: Elasticutor.published()}


@dataclass(frozen=True)
class MicroRun:
    """One run of the micro-benchmark.

    Attributes:
        policy: decides where shards and cores go.
        nodes: number of nodes.
        omega: key shuffles per minute: random permutations of the keys' frequencies.
        seconds: length of the run.
        warm_up: seconds at the start that are not measured.
        executors: of the operator, if the policy is executor-centric; the paper's y.
        shards: per executor; the paper's z. Other policies always have 8192 shards in all.
        cost: core seconds per row.
        size: bytes per row.
        state: bytes of state per shard.
        load: offered rows over what all cores can process.
        patience: seconds of rows that the source keeps while it is blocked.
        upstream: number of executors that send rows.
        cores: cores per node.
        most: upper limit of the offered rows per second.
        spread: True to begin with all cores in use; False to begin with one core per executor.
        seed: of all random numbers.
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
        """The simulated cluster; each run has its own."""
        total = self.nodes * self.cores
        elastic = self.policy.pause is Pause.SHARD
        executors, each = (self.executors, self.shards) if elastic else (32, 256)
        rate = min(self.load * total / self.cost, self.most)
        workload = Micro(rate, omega=self.omega, executors=executors, shards_per_executor=each, seed=self.seed)
        shards = workload.shards
        job = Job(
            (
                Operator(
                    name="calculator",
                    shards=shards,
                    cost=self.cost,
                    variability=1.0,
                    row_bytes=self.size,
                    out_bytes=0.0,
                    state_bytes=self.state,
                ),
            )
        )
        if elastic:
            plan = OperatorPlan.elastic(shards, executors, self.nodes, room=max(total, executors))
            plan = _spread(plan, total, self.nodes) if self.spread else plan
        else:
            plan = OperatorPlan.even(shards, min(total, shards), self.nodes)
        # A tick must be short compared with the time that a full queue lasts, or senders are blocked for too long.
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
            room=2 * max(total, executors),  # so that a slot number need not be reused on another node at once
        )

    def trace(self) -> Trace:
        """Run it and return its trace."""
        return Simulation(self.engine, self.policy, warm_up=self.warm_up).run(self.seconds)


@dataclass(frozen=True)
class ExchangeRun:
    """One run of the exchange: a transactor, six operators for statistics and five for events (figure 14).

    Attributes:
        policy: decides where shards and cores go.
        nodes: number of nodes.
        seconds: length of the run.
        warm_up: seconds at the start that are not measured.
        load: offered orders over what all cores can process if they are evenly loaded.
        patience: seconds of orders that the source keeps while it is blocked.
        seed: of all random numbers.
        block: seconds between two changes of the stocks' popularity, besides bursts.
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
        """The first plan: executors round robin on the nodes, or equal numbers of slots per operator."""
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
        """The simulated cluster; each run has its own."""
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
        """Run it and return its trace."""
        return Simulation(self.engine, self.policy, warm_up=self.warm_up).run(self.seconds)


def _spread(plan: OperatorPlan, cores: int, nodes: int) -> OperatorPlan:
    """Return the plan with all cores in use: equal numbers per executor, on its own node first."""
    assert plan.subspaces is not None
    owned, count = plan.subspaces, len(plan.subspaces.homes)
    owners = np.arange(cores) * count // cores
    places = (owned.homes[owners] + (np.arange(cores) - np.searchsorted(owners, owners)) // (cores // nodes)) % nodes
    within = np.arange(len(owned.executors)) - np.searchsorted(owned.executors, owned.executors)
    first, each = np.searchsorted(owners, owned.executors), np.bincount(owners, minlength=count)[owned.executors]
    size = np.bincount(owned.executors, minlength=count)[owned.executors]
    return OperatorPlan(first + within * each // size, places, Subspaces(owned.executors, owners, owned.homes))


def orders(trace: Trace, warm_up: float) -> float:
    """Return the orders per second that entered; output rows would count an order once per operator at the end."""
    return float(np.mean(trace.admitted[trace.after(warm_up)]))
