"""Values of ELYSIUM: configurations, thresholds and node types (sections 2 and 5.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rheostat.errors import ConfigurationError

Parallelism = Mapping[str, Mapping[str, int]]
"""Number of slots, by topology and operator."""

NO_LOAD = "no input load has been measured yet"
"""The reason of decisions that change nothing because they know too little."""


@dataclass(frozen=True)
class Thresholds:
    """Utilisation above which a slot or a node is in stress, and below which it is idle (section 5.1).

    Attributes:
        core_min: share of a core below which a slot is idle.
        core_max: share of a core above which a slot is in stress.
        cpu_max: share of a node's CPU above which the node is in stress.
        cpu_min: share of a node's CPU below which the node is idle; only joint scaling uses it. The paper gives no
            value.
        memory_max: share of a node's memory above which it is in stress; future work in the paper.
        bandwidth_max: share of a node's bandwidth above which it is in stress; future work in the paper.

    >>> from rheostat import elysium
    >>> flow = elysium.Dataflow("t", (elysium.ScalableOperator("sum"),), ())
    >>> learned = elysium.Profiles(flow, selectivity={}, cpu={"sum": elysium.Line(base=0.0, slope=1e6)})
    >>> estimator = elysium.Estimator({"t": learned}, overhead=elysium.Line(0.0, 1.0))
    >>> bounds = [elysium.Bounds(thresholds=Thresholds(core_max=most)) for most in (0.9, 0.3)]
    >>> [elysium.compute_config(estimator, {"t": 2000.0}, b).config.slots for b in bounds]  # 0.88 cores in all
    [1, 3]
    """

    core_min: float = 0.25
    core_max: float = 0.65
    cpu_max: float = 0.80
    cpu_min: float = 0.50
    memory_max: float = 0.80
    bandwidth_max: float = 0.80

    def __post_init__(self) -> None:
        if not (0 <= self.core_min < self.core_max and 0 <= self.cpu_min < self.cpu_max):
            raise ConfigurationError(
                f"core_min={self.core_min}, core_max={self.core_max}, cpu_min={self.cpu_min}, cpu_max={self.cpu_max}: "
                "thresholds must be in order, 0 <= core_min < core_max and 0 <= cpu_min < cpu_max"
            )


@dataclass(frozen=True)
class NodeType:
    """The resources of every node of a cluster. Defaults are the paper's machines.

    Attributes:
        cores: number of cores.
        hertz: cycles per second of one core.
        memory: bytes; None to ignore memory.
        bandwidth: bytes per second in each direction; None to ignore bandwidth.

    >>> NodeType().capacity, NodeType(cores=8).capacity  # cycles per second
    (9120000000.0, 18240000000.0)
    """

    cores: int = 4
    hertz: float = 2.28e9
    memory: float | None = None
    bandwidth: float | None = None

    @property
    def capacity(self) -> float:
        """Cycles per second of all cores."""
        return self.cores * self.hertz


@dataclass(frozen=True)
class Config:
    """A configuration: the number of slots of every operator, and the number of nodes.

    Attributes:
        parallelism: number of slots, by topology and operator.
        nodes: number of nodes.
        own: number of nodes by topology, if every topology has nodes of its own; ``nodes`` is then their sum. None if
            topologies share nodes.

    >>> Config({"t": {"a": 2, "b": 1}}, nodes=2).slots
    3
    """

    parallelism: Parallelism
    nodes: int
    own: Mapping[str, int] | None = None

    @property
    def slots(self) -> int:
        """Number of slots of all topologies."""
        return sum(sum(operators.values()) for operators in self.parallelism.values())


@dataclass(frozen=True)
class ChosenConfig:
    """The configuration that was chosen, with its reasons.

    Attributes:
        config: slots and nodes.
        loads: rows per second that it was chosen for, by topology.
        feasible: True if nothing is expected to be in stress; otherwise it is the best configuration within the bounds.
        reasons: why, in words and numbers.
    """

    config: Config
    loads: Mapping[str, float]
    feasible: bool = True
    reasons: tuple[str, ...] = ()
