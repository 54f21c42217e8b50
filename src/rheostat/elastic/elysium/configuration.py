"""What ELYSIUM chooses and within what limits: configurations, thresholds, nodes (sections 2 and 5.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rheostat.errors import ConfigurationError

Parallelism = Mapping[str, Mapping[str, int]]
"""Slots by topology and operator."""


@dataclass(frozen=True)
class Thresholds:
    """From where on a slot or a node is in stress or idle, as shares of a core or a node (section 5.1).

    Attributes:
        core_min: below it a slot is idle.
        core_max: above it a slot is in stress.
        cpu_max: above it a node is in stress.
        cpu_min: below it a node is idle. The paper prints no value and its Algorithm 1 needs none; joint scaling does.
        memory_max: above it a node's memory is in stress; the paper leaves memory to future work.
        bandwidth_max: above it a node's network is in stress; the paper leaves it to future work.
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
                f"thresholds must be in order: core {self.core_min} < {self.core_max}, cpu {self.cpu_min} < "
                f"{self.cpu_max}"
            )


@dataclass(frozen=True)
class NodeType:
    """What every node of the cluster has; the defaults are the paper's machines.

    Attributes:
        cores: how many.
        hertz: of one core.
        memory: bytes, or None where memory is not to be looked at.
        bandwidth: bytes per second in each direction, or None.
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
    """A configuration: the parallelism of every operator, and how many nodes there are.

    Attributes:
        parallelism: slots by topology and operator.
        nodes: how many there are.
        own: nodes by topology where every topology has nodes of its own; ``nodes`` is then their sum.

    >>> Config({"t": {"a": 2, "b": 1}}, nodes=2).slots
    3
    """

    parallelism: Parallelism
    nodes: int
    own: Mapping[str, int] | None = None

    @property
    def slots(self) -> int:
        """All slots of all topologies."""
        return sum(sum(operators.values()) for operators in self.parallelism.values())


@dataclass(frozen=True)
class ChosenConfig:
    """A configuration that was decided on, and why.

    Attributes:
        config: slots and nodes.
        loads: rows per second that it was chosen for, by topology.
        feasible: True if nothing is expected to be in stress; if not, it is the best there is within the bounds.
        reasons: in words and numbers.
    """

    config: Config
    loads: Mapping[str, float]
    feasible: bool = True
    reasons: tuple[str, ...] = ()
