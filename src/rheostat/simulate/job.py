"""What is simulated: a job of operators, a cluster, and what changes of the plan cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rheostat.arrays import Floats
from rheostat.elastic.model.plan import Plan
from rheostat.errors import ConfigurationError
from rheostat.workloads.arrivals import Workload

GIGABIT = 125e6
"""Bytes per second of a 1 Gbps network, as in the papers."""

ROUNDING = 1e-9
"""Seconds by which two simulated times may differ through rounding although they are meant to be equal."""


@dataclass(frozen=True, eq=False)
class Operator:
    """One operator of a simulated job.

    Attributes:
        name: unique in the job.
        shards: number of shards.
        cost: mean seconds of a core per row.
        variability: 0 if all rows cost the same, 1 if costs are exponentially distributed.
        row_bytes: size of an input row.
        out_bytes: size of an output row.
        state_bytes: size of the state of a shard.
        selectivity: rows sent to each downstream operator per input row.
        inputs: names of the operators that send to this one; empty for the first operator.
        weights: share of the input rows that each shard gets, in any unit. None if a row keeps the number of its
            shard, modulo ``shards``, because both operators have the same key.
    """

    name: str
    shards: int
    cost: float
    variability: float = 0.0
    row_bytes: float = 128.0
    out_bytes: float = 128.0
    state_bytes: float = 32 * 1024.0
    selectivity: float = 1.0
    inputs: tuple[str, ...] = ()
    weights: Floats | None = None

    def __post_init__(self) -> None:
        if self.shards < 1 or not 0 < self.cost < np.inf or self.variability not in (0.0, 1.0):
            raise ConfigurationError(
                f"operator {self.name!r}: shards={self.shards}, cost={self.cost}, variability={self.variability}; "
                "shards must be at least 1, cost a finite number above 0, and variability 0 or 1"
            )
        if not (self.row_bytes >= 0 and self.out_bytes >= 0 and self.state_bytes >= 0 and self.selectivity >= 0):
            raise ConfigurationError(
                f"operator {self.name!r}: row_bytes, out_bytes, state_bytes and selectivity must not be negative"
            )
        if self.weights is not None and (len(self.weights) != self.shards or not self.weights.sum() > 0):
            raise ConfigurationError(
                f"operator {self.name!r}: weights must have one number for each of the {self.shards} shards, with a "
                "sum above 0"
            )


@dataclass(frozen=True)
class Job:
    """The operators of a job.

    Attributes:
        operators: upstream first; the first one receives the rows of the workload.

    >>> Job((Operator("split", 4, 0.001), Operator("count", 8, 0.001, inputs=("split",)))).edges()
    [(0, 1)]
    """

    operators: tuple[Operator, ...]

    def __post_init__(self) -> None:
        if not self.operators:
            raise ConfigurationError("a job needs at least one operator")
        earlier: set[str] = set()
        for place, operator in enumerate(self.operators):
            where = f"operator {operator.name!r}"
            if operator.name in earlier:
                raise ConfigurationError(f"{where}: another operator has the same name; names must differ")
            if place == 0 and operator.inputs:
                raise ConfigurationError(f"{where}: the first operator must not have inputs; it gets the workload")
            if place > 0 and not operator.inputs:
                raise ConfigurationError(f"{where} has no inputs: name the operators that send to it")
            if unknown := sorted(set(operator.inputs) - earlier):
                raise ConfigurationError(f"{where}: inputs {unknown} are not among the operators before it")
            earlier.add(operator.name)

    def edges(self) -> list[tuple[int, int]]:
        """Return pairs of sender and receiver, as indexes of operators, sorted."""
        places = {operator.name: place for place, operator in enumerate(self.operators)}
        return sorted((places[i], place) for place, o in enumerate(self.operators) for i in o.inputs)


@dataclass(frozen=True)
class Cluster:
    """Nodes and their network; by default those of Elasticutor section 5 (32 nodes with 8 cores, 1 Gbps).

    Attributes:
        nodes: number of nodes.
        cores: cores per node.
        bandwidth: bytes per second that a node can send, and also receive.
        speeds: speed of the cores of each node, from the first node on; nodes that are not listed have speed 1.
    """

    nodes: int = 32
    cores: int = 8
    bandwidth: float = GIGABIT
    speeds: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if self.nodes < 1 or self.cores < 1 or not self.bandwidth > 0 or any(not s > 0 for s in self.speeds):
            raise ConfigurationError(f"{self}: nodes, cores, bandwidth and speeds must be above 0")
        if len(self.speeds) > self.nodes:
            raise ConfigurationError(
                f"{len(self.speeds)} speeds for {self.nodes} nodes: write at most one speed per node"
            )

    @property
    def total(self) -> int:
        """Number of cores of all nodes."""
        return self.nodes * self.cores

    def node_speeds(self) -> Floats:
        """Return the speed of every node.

        >>> Cluster(nodes=3, speeds=(0.5,)).node_speeds().tolist()
        [0.5, 1.0, 1.0]
        """
        speeds = np.ones(self.nodes)
        speeds[: len(self.speeds)] = self.speeds
        return speeds


@dataclass(frozen=True)
class Costs:
    """Costs of changing the plan in the continuous engine, and the limits of its queues.

    Attributes:
        shard_sync: seconds to reroute the rows of a shard inside an executor, after its pending rows are done. 2 ms in
            Elasticutor's figure 9.
        operator_sync: seconds per upstream executor to stop it and send it the new routing. The paper says two to three
            orders of magnitude more than 2 ms, growing with the number of upstream executors; 30 ms is our choice.
        pair_sync: seconds that the old and the new slot of a shard stop, besides the time to send state. StreamSwitch
            section 3.1 says hundreds of milliseconds.
        start: seconds until a new slot can take shards.
        upstream: number of executors that send to an operator.
        queue: rows in the queue of a slot above which its senders stop.
        hold: rows held for a moving shard above which its senders stop.
        buffer: seconds of data waiting for a node's network above which its senders stop.
    """

    shard_sync: float = 0.002
    operator_sync: float = 0.030
    pair_sync: float = 0.4
    start: float = 0.0
    upstream: int = 32
    queue: int = 256
    hold: int = 4096
    buffer: float = 0.05

    def __post_init__(self) -> None:
        for name in ("shard_sync", "operator_sync", "pair_sync", "start", "buffer"):
            if not 0 <= getattr(self, name) < np.inf:
                raise ConfigurationError(f"{name} = {getattr(self, name)}: write a finite number of seconds, 0 or more")
        for name in ("upstream", "queue", "hold"):
            if not getattr(self, name) >= 1:
                raise ConfigurationError(f"{name} = {getattr(self, name)}: write a whole number, 1 or more")


@dataclass(frozen=True)
class Timing:
    """The time steps of the continuous engine.

    Attributes:
        tick: seconds that are simulated for one operator after the other, upstream first.
        interval: seconds between two observations.
    """

    tick: float = 0.01
    interval: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.tick <= self.interval < np.inf:
            raise ConfigurationError(f"{self}: the tick must be above 0 and at most as long as the interval")

    @property
    def ticks(self) -> int:
        """Number of ticks in an interval."""
        return max(1, round(self.interval / self.tick))


def check_inputs(job: Job, cluster: Cluster, workload: Workload, plan: Plan) -> None:
    """Raise ``ConfigurationError`` if the parts of a simulation do not fit together."""
    first = job.operators[0]
    if first.shards != workload.shards:
        raise ConfigurationError(
            f"operator {first.name!r} has {first.shards} shards, but the workload has {workload.shards}: both need the "
            "same number"
        )
    names = {operator.name for operator in job.operators}
    if set(plan.operators) != names:
        raise ConfigurationError(
            f"the plan is for operators {sorted(plan.operators)}, but the job has {sorted(names)}: both need the same"
        )
    for operator in job.operators:
        plan.operators[operator.name].check(operator.shards, cluster.nodes)
