"""What is simulated: operators and how rows go between them, nodes and the network, and what changes cost there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rheostat.arrays import Floats
from rheostat.errors import ConfigurationError

GIGABIT = 125e6
"""Bytes per second of the papers' networks."""


@dataclass(frozen=True, eq=False)
class Operator:
    """One operator of a simulated job.

    Attributes:
        name: unique in the job.
        shards: how many.
        cost: mean seconds of a core per row.
        variability: 0 if all rows cost the same, 1 if their costs are exponentially distributed.
        row_bytes: size of a row that comes in.
        out_bytes: size of a row that goes out.
        state_bytes: state of a shard.
        selectivity: rows sent to each downstream operator per row taken.
        inputs: the operators that send to this one; none if rows come from outside.
        weights: how rows that come from other operators spread over shards; None if they keep the number of their
            shard, as rows do that are keyed alike.
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
                f"operator {self.name!r}: shards={self.shards}, cost={self.cost}, variability={self.variability}; it "
                "needs a shard or more, a cost above 0 seconds, and a variability of 0 or 1"
            )
        if not (self.row_bytes >= 0 and self.out_bytes >= 0 and self.state_bytes >= 0 and self.selectivity >= 0):
            raise ConfigurationError(f"operator {self.name!r}: bytes and selectivity cannot be negative")
        if self.weights is not None and (len(self.weights) != self.shards or not self.weights.sum() > 0):
            raise ConfigurationError(f"operator {self.name!r}: weights gives a weight for each of {self.shards} shards")


@dataclass(frozen=True)
class Job:
    """Operators, upstream first; the first one takes the rows of the workload.

    Attributes:
        operators: in this order.

    >>> Job((Operator("split", 4, 0.001), Operator("count", 8, 0.001, inputs=("split",)))).edges()
    [(0, 1)]
    """

    operators: tuple[Operator, ...]

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for place, operator in enumerate(self.operators):
            unknown = set(operator.inputs) - seen
            if operator.name in seen or unknown or (place == 0) != (not operator.inputs):
                raise ConfigurationError(
                    f"operator {operator.name!r}: names differ, the first operator has no inputs, and the others come "
                    f"after theirs{f'; {sorted(unknown)} do not' if unknown else ''}"
                )
            seen.add(operator.name)
        if not self.operators:
            raise ConfigurationError("a job has at least one operator")

    def edges(self) -> list[tuple[int, int]]:
        """Places of the operators that send and take."""
        places = {operator.name: place for place, operator in enumerate(self.operators)}
        return sorted((places[i], place) for place, o in enumerate(self.operators) for i in o.inputs)


@dataclass(frozen=True)
class Cluster:
    """Nodes and their network; the papers' by default (Elasticutor section 5: 32 nodes of 8 cores, 1 Gbps).

    Attributes:
        nodes: how many.
        cores: of every node.
        bandwidth: bytes per second that a node can send, and as many that it can take.
        speeds: how fast slots of each node are, 1 if nothing else is said.
    """

    nodes: int = 32
    cores: int = 8
    bandwidth: float = GIGABIT
    speeds: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if self.nodes < 1 or self.cores < 1 or not self.bandwidth > 0 or any(not s > 0 for s in self.speeds):
            raise ConfigurationError(f"{self}: a cluster has nodes, cores, bandwidth and speeds above 0")
        if len(self.speeds) > self.nodes:
            raise ConfigurationError(
                f"{len(self.speeds)} speeds for {self.nodes} nodes: write one for each node at most"
            )

    @property
    def total(self) -> int:
        """All cores."""
        return self.nodes * self.cores


@dataclass(frozen=True)
class Costs:
    """What changing the plan costs in a continuous engine, and how its queues are bounded.

    Attributes:
        shard_sync: seconds until a shard's rows are rerouted inside an executor, after its pending rows are done: 2 ms
            in Elasticutor's figure 9.
        operator_sync: seconds per upstream executor to stop it and tell it the new routing. The paper says two to three
            orders of magnitude more than 2 ms, growing with upstream executors; 30 ms is ours.
        pair_sync: seconds that the giving and the taking slot stand still besides the transfer. StreamSwitch section
            3.1 says hundreds of milliseconds.
        start: seconds until a slot that did not exist can take shards.
        upstream: how many executors send to an operator.
        queue: rows that wait in a slot before its senders are stopped.
        hold: rows that wait for a shard on its way before its senders are stopped.
        buffer: seconds of data that wait for a node's network before its senders are stopped.
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
                raise ConfigurationError(f"{name} = {getattr(self, name)}: give a finite number of seconds, 0 or more")
        for name in ("upstream", "queue", "hold"):
            if not getattr(self, name) >= 1:
                raise ConfigurationError(f"{name} = {getattr(self, name)}: give a whole number, 1 or more")


@dataclass(frozen=True)
class Timing:
    """How finely time is cut.

    Attributes:
        tick: seconds for which operators run one after the other; rows go on to the next operator within it.
        interval: seconds between two observations.
    """

    tick: float = 0.01
    interval: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.tick <= self.interval < np.inf:
            raise ConfigurationError(f"{self}: a tick is above 0 seconds and not longer than the interval")

    @property
    def ticks(self) -> int:
        """Ticks in an interval."""
        return max(1, round(self.interval / self.tick))
