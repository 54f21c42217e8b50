"""The parts of a query that its epochs use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import nan
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame

from rheostat.elastic.elysium.live.profile_policies import Profiled
from rheostat.elastic.loop.loop import PolicyLoop
from rheostat.elastic.model.promise import Latency
from rheostat.elastic.model.slo import SloMeter
from rheostat.elastic.record.recording import Header, RecordedComponent, settings_of
from rheostat.planning.declarations import declarations
from rheostat.planning.table_forms import TableForms
from rheostat.planning.tables import PhysicalPlan
from rheostat.spark.actuator import SparkActuator
from rheostat.spark.decision_log import DecisionLog
from rheostat.spark.epoch.apply_operator import ApplyOperator
from rheostat.spark.epoch.epilogue import Epilogue
from rheostat.spark.epoch.source_counts import SourceCounter
from rheostat.spark.executors.executor_nodes import ExecutorNodes
from rheostat.spark.homes import SlotHomes
from rheostat.spark.input.lineage import is_fixed
from rheostat.spark.input.natural_arrival import natural_arrival
from rheostat.spark.input.result_scans import ResultScans
from rheostat.spark.observer import Observer
from rheostat.spark.pacer import Pacer
from rheostat.spark.profile_keeper import ProfileKeeper
from rheostat.spark.progress import Progress
from rheostat.spark.recorder import Recorder
from rheostat.spark.stage.planned_stages import PlannedStages
from rheostat.state.checkpoint import Checkpoint
from rheostat.topology.event_time import EventTime
from rheostat.topology.graph import Graph
from rheostat.topology.nodes import Source
from rheostat.windows.partials import ddl

Probe = Callable[[str], None]
"""Called with the name of each step of an epoch when it is done; tests use it to make epochs fail."""


@dataclass(frozen=True, kw_only=True)
class QueryContext:
    """The parts of a query that its epochs use, the same for all of them.

    Attributes:
        graph: the topology.
        plan: its physical plan.
        checkpoint: holds state and progress.
        recorded: by operator with state, the description that manifests store for the next start.
        observer: turns task reports into observations.
        actuator: turns plans into the routing of epochs.
        loop: the policy loop, from observations to plans.
        decision_log: stores what the loop decides.
        on_progress: called with the progress of every epoch.
        probe: called with the name of each step of an epoch when it is done.
        promise: the latency that the query promises; None if it promises none.
        pacer: limits the rows of epochs; None if they are not limited.
        recorder: writes what every turn of the loop saw and decided, once it has a file.
        meter: measures how well the promise is kept.
        stages: the Spark plans of stages that epochs have in common.
        scans: reads results of operators.
        applied: the apply operators by name, with what they have learned.
        forms: says which tables are split and which combined.
        epilogue: does what follows the commit of an epoch.
        nodes: the executors that are there, and those that are asked for.
        keeper: keeps the profile that the policy learns; None if nothing is kept.
        homes: the hosts that slots prefer.
    """

    graph: Graph
    plan: PhysicalPlan
    checkpoint: Checkpoint
    recorded: Mapping[str, Mapping[str, Any]]
    observer: Observer
    actuator: SparkActuator
    loop: PolicyLoop
    decision_log: DecisionLog
    on_progress: Callable[[Progress], None]
    probe: Probe
    nodes: ExecutorNodes
    promise: Latency | None = None
    pacer: Pacer | None = None
    recorder: Recorder = field(default_factory=Recorder)
    stages: PlannedStages = field(default_factory=PlannedStages)
    scans: ResultScans = field(default_factory=ResultScans)
    applied: Mapping[str, ApplyOperator] = field(default_factory=dict)
    forms: TableForms = field(default_factory=TableForms)
    epilogue: Epilogue = field(default_factory=Epilogue)
    keeper: ProfileKeeper | None = None
    homes: SlotHomes = field(default_factory=SlotHomes)
    meter: SloMeter = field(init=False)
    _fixed: dict[str, bool] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        keyed = [component.name for component in self.plan.components if component.attributes]
        object.__setattr__(self, "meter", SloMeter(self.promise, keyed))

    def record(self, path: Path | str, *, complete: bool) -> None:
        """Record every turn of the loop from now on.

        Args:
            path: the file, which must not exist yet.
            complete: True before the first turn of the loop.

        Raises:
            ConfigurationError: the file exists or cannot be written, or a recording is under way.
        """
        policy, plan = self.loop.control.policy, self.actuator.plan
        levels = {component.name: component.level for component in self.plan.components}
        self.recorder.begin(
            path,
            Header(
                topology=self.graph.name,
                components=tuple(
                    RecordedComponent(name, len(part.routing), levels[name]) for name, part in plan.operators.items()
                ),
                plan=plan,
                policy=policy.name,
                settings=settings_of(policy),
                bound=nan if self.promise is None else self.promise.seconds,
                window=nan if self.promise is None else self.promise.window,
                slots=self.loop.control.allowed,
                complete=complete,
            ),
        )

    @cached_property
    def declarations(self) -> dict[str, str]:
        """By component, the fingerprint of what the user declared."""
        return declarations(self.graph, self.plan)

    def keep_profile(self, *, now: bool = False) -> None:
        """Write what the policy has learned of the query, if it is time.

        Args:
            now: True to write it in any case, because the query ends.
        """
        control = self.loop.control
        if self.keeper is not None and isinstance(control.policy, Profiled):
            write = self.keeper.save if now else self.keeper.after_turn
            write(control.policy, control.history, self.declarations)

    @cached_property
    def sources(self) -> list[Source]:
        """The sources, in the order in which the user added them."""
        return [n for n in self.graph.nodes.values() if isinstance(n, Source)]

    @cached_property
    def fixed(self) -> bool:
        """True if a plan for the tables over sources can be used in every epoch: maps do the same in each."""
        return all(is_fixed(source.frame, mapped) for source, mapped in self._mapped.values())

    def is_fixed(self, stream: str) -> bool:
        """True if the maps of a stream do the same in every epoch, so that a plan for its rows can be used again."""
        if stream not in self._fixed:
            origin = self.graph.origin_of(stream)
            frame = origin.frame if isinstance(origin, Source) else self._no_results(origin.name)
            mapped = frame
            for step in self.graph.path_to(stream):
                mapped = step.function(mapped)
            self._fixed[stream] = is_fixed(frame, mapped)
        return self._fixed[stream]

    def _no_results(self, operator: str) -> DataFrame:
        """A DataFrame like the results of an operator, without rows."""
        spark = self.sources[0].frame.sparkSession
        return spark.createDataFrame([], ddl(self.plan.result_schema(operator)))

    @cached_property
    def counters(self) -> dict[str, SourceCounter]:
        """By source, the counter of its rows."""
        return {s.name: SourceCounter(self.graph, self.plan, s) for s in self.sources}

    @cached_property
    def arrivals(self) -> dict[str, str]:
        """By stream that the tables read, Spark SQL for the arrival time: the user's column or the source's own."""
        found = {}
        for name, (origin, frame) in self._mapped.items():
            if origin.arrival_time is not None:
                if origin.arrival_sql is not None and origin.arrival_time in frame.columns:
                    found[name] = origin.arrival_sql
            elif (column := natural_arrival(frame)) is not None:
                found[name] = EventTime.of_column(column, "timestamp").sql
        return found

    @cached_property
    def _mapped(self) -> dict[str, tuple[Source, DataFrame]]:
        """By stream that begins with a source and that operators read, the source and the rows after all maps."""
        found = {}
        for name in self.plan.streams_read:
            origin = self.graph.origin_of(name)
            if isinstance(origin, Source):
                frame = origin.frame
                for step in self.graph.path_to(name):
                    frame = step.function(frame)
                found[name] = (origin, frame)
        return found
