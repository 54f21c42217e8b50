"""What an epoch needs to know of the query it belongs to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rheostat.elastic.loop.loop import PolicyLoop
from rheostat.planning.tables import PhysicalPlan
from rheostat.spark.actuator import SparkActuator
from rheostat.spark.epoch.source_counts import SourceCounter
from rheostat.spark.observer import Observer
from rheostat.spark.progress import Progress
from rheostat.state.checkpoint import Checkpoint
from rheostat.topology.graph import Graph
from rheostat.topology.nodes import Source

Probe = Callable[[str], None]
"""Called with the name of every step of an epoch that is done; tests make epochs fail there."""


@dataclass(frozen=True, kw_only=True)
class QueryContext:
    """What an epoch needs to know of its query; the same for all its epochs.

    Attributes:
        graph: the topology.
        plan: its plan.
        checkpoint: where state and progress are kept.
        recorded: what the checkpoint is to remember of every operator with state.
        observer: makes observations of task reports.
        actuator: makes plans the routing of epochs.
        loop: the policy, between both.
        on_progress: called after every epoch.
        probe: called after every step of an epoch.
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
        return {s.name: SourceCounter(self.graph, self.plan, s) for s in self.sources}
