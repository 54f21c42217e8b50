"""A job: everything an epoch needs to know about the query it belongs to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rheostat.elastic.loop.loop import PolicyLoop
from rheostat.planning.physical import PhysicalPlan
from rheostat.spark.actuator import SparkActuator
from rheostat.spark.input.counts import SourceCounter
from rheostat.spark.observer import Observer
from rheostat.spark.progress import Progress
from rheostat.state.checkpoint import Checkpoint
from rheostat.topology.graph import Graph
from rheostat.topology.nodes import Source
from rheostat.topology.sinks import Sink

Probe = Callable[[str], None]
"""Called with the name of every step of an epoch that is done; tests make epochs fail there."""


@dataclass(frozen=True)
class Job:
    """What an epoch needs to know.

    Attributes:
        recorded: what the checkpoint is to remember of every operator with state.
        observer: makes observations of task reports.
        actuator: makes plans the routing of epochs.
        loop: the policy, between both.
    """

    graph: Graph
    plan: PhysicalPlan
    checkpoint: Checkpoint
    recorded: Mapping[str, Mapping[str, Any]]
    observer: Observer
    actuator: SparkActuator
    loop: PolicyLoop
    on_progress: Callable[[Progress], None]
    probe: Probe

    @cached_property
    def sources(self) -> list[Source]:
        """The sources, in the order in which they were written."""
        return [n for n in self.graph.nodes.values() if isinstance(n, Source)]

    @cached_property
    def counters(self) -> dict[str, SourceCounter]:
        """How the rows of every source are counted."""
        return {s.name: SourceCounter(self.graph, self.plan, s, s.frame) for s in self.sources}

    def sinks_of(self, stream: str, *, aside: bool = False) -> list[Sink]:
        """Where a stream's rows go, or those that its source kept aside."""
        return [s.sink for s in self.graph.sinks if s.upstream == stream and s.aside == aside]
