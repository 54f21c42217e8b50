"""A profiling phase: runs a topology on its own sources, sweeps rates, and learns its profile (ELYSIUM section 3.2).

The paper injects a variable load for half an hour. Here the query reads what its sources give, as fast as it can, and
two things are swept: the number of slots, which divides the rows of an epoch, and the rows of an epoch themselves,
where a source takes a limit. The state of the phase is thrown away, and nothing is written to the sinks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import isnan

import numpy as np
from py4j.protocol import Py4JError

from rheostat.elastic.elysium.forecasts.series import Series
from rheostat.elastic.elysium.live.epoch_config import NodeBounds, StageDemand
from rheostat.elastic.elysium.live.live_elysium import LiveElysium
from rheostat.elastic.elysium.live.past_thresholds import PastTrial, learned_thresholds
from rheostat.elastic.elysium.live.query_profile import QueryProfile
from rheostat.elastic.elysium.live.use_profile import UseProfile
from rheostat.errors import ConfigurationError
from rheostat.planning.declarations import declarations
from rheostat.planning.physical import plan_physical
from rheostat.spark.input.source_limits import SourceLimits
from rheostat.spark.profile_keeper import ProfileKeeper
from rheostat.spark.progress import Progress
from rheostat.spark.query import Query
from rheostat.spark.topology import Topology
from rheostat.state.files import Folder
from rheostat.topology import sinks

SHARES = (1.0, 0.5, 0.25)
"""Shares of the rows of an epoch that are swept, where a source takes a limit."""

_FOLDER = "profiling"
"""Folder inside the checkpoint for the state of the phase."""

_START_UP = 120.0
"""Seconds to wait for the first epoch."""

_IDLE = 15.0
"""Seconds without an epoch after which the sources are taken to have no more rows."""


@dataclass(frozen=True)
class SweepStep:
    """One step of the sweep.

    Attributes:
        slots: slots of every component.
        share: share of the rows that an epoch may have.
    """

    slots: int
    share: float


def sweep(slots: tuple[int, int]) -> tuple[SweepStep, ...]:
    """Return the steps of a sweep: the numbers of slots, doubled each time, then shares of the rows.

    >>> [(phase.slots, phase.share) for phase in sweep((1, 3))]
    [(1, 1.0), (2, 1.0), (3, 1.0), (3, 0.5), (3, 0.25)]
    """
    least, most = slots
    numbers = [least]
    while numbers[-1] < most:
        numbers.append(min(numbers[-1] * 2, most))
    return (*(SweepStep(n, SHARES[0]) for n in numbers), *(SweepStep(most, share) for share in SHARES[1:]))


@dataclass(frozen=True)
class ProfileRun:
    """What a profiling phase found.

    Attributes:
        profile: the profile.
        epochs: epochs that were observed.
        rows: rows that were read.
        seconds: how long it took after the first epoch.
        messages: what the user should know.
    """

    profile: QueryProfile
    epochs: int
    rows: int
    seconds: float
    messages: tuple[str, ...]


def profile_topology(
    topology: Topology,
    checkpoint: str,
    *,
    seconds: float = 60.0,
    slots: tuple[int, int] = (1, 4),
    shards: int = 256,
    step: Callable[[SweepStep, float], None] | None = None,
) -> ProfileRun:
    """Run a topology for some time, learn its profile, and write it to the checkpoint.

    Args:
        topology: the topology. Its sinks are replaced: nothing is written to them.
        checkpoint: folder of the checkpoint that the query runs with, or will run with.
        seconds: length of the phase, after the first epoch.
        slots: the fewest and most slots to try.
        shards: number of shards.
        step: called several times per second with the step of the sweep and the share of the time that has passed; None
            to call nothing.

    Raises:
        ConfigurationError: no rows arrived, so there is nothing to learn from.
    """
    if not seconds > 0:
        raise ConfigurationError(f"seconds={seconds}: a profiling phase must be longer than 0 seconds")
    folder = Folder.at(checkpoint)
    folder.create()
    folder.delete_folder(_FOLDER)
    topology.sinks = [replace(node, sink=sinks.foreach(_discard)) for node in topology.sinks]
    keeper = ProfileKeeper(folder, topology.name)
    declared = declarations(topology, plan_physical(topology))
    stored = keeper.recall(declared)
    shown: list[Progress] = []
    query = topology.start(
        (folder / _FOLDER).uri,
        slots=slots,
        shards=shards,
        policy=LiveElysium(profile=replace(stored.profile, loads=Series(np.zeros(0)))),
        on_progress=shown.append,
    )
    try:
        query.pause_policy("profiling")
        _await_first(query, shown)
        ran, ended = _run_phases(query, shown, sweep(slots), seconds, step or _quiet)
    finally:
        query.stop()
        folder.delete_folder(_FOLDER)
    if (error := query.exception()) is not None:
        raise error
    control = query._job.loop.control
    learned = replace(
        control.policy.profile_of(control.history),  # type: ignore[attr-defined]
        loads=stored.profile.loads,
        thresholds=stored.profile.thresholds,
    )
    if not any(operator.known for operator in learned.operators.values()):
        raise ConfigurationError(
            f"topology {topology.name!r}: no component with keys received a row in {ran:.0f} s, so nothing was "
            "learned: let the sources have rows, or pass more --seconds"
        )
    keeper.write(learned, declared)
    messages = (*stored.messages, *(["the sources gave no more rows: the sweep ended early"] if ended else []))
    return ProfileRun(learned, len(shown), sum(p.rows for p in shown), ran, messages)


def with_thresholds(
    checkpoint: str, topology: Topology, run: ProfileRun, history: Series, nodes: tuple[int, int], cores: int = 1
) -> ProfileRun:
    """Learn thresholds from a recorded load and the profile, and write them to the checkpoint too.

    Args:
        checkpoint: folder of the checkpoint.
        topology: the topology.
        run: the profiling phase.
        history: rows per second, period by period.
        nodes: the fewest and most nodes.
        cores: cores of a node.
    """
    operators = {
        name: StageDemand(work=profile.selectivity * profile.line.slope)
        for name, profile in run.profile.operators.items()
        if profile.known
    }
    trial = PastTrial(history, operators, NodeBounds(*nodes, cores=cores))
    thresholds, found = learned_thresholds(trial)
    profile = replace(run.profile, loads=history, thresholds=thresholds)
    keeper = ProfileKeeper(Folder.at(checkpoint), topology.name)
    keeper.write(profile, declarations(topology, plan_physical(topology)))
    rewards = ", ".join(f"{t:.2f}: {r:.2f}" for t, r in zip(found.thresholds, found.rewards.tolist(), strict=True))
    message = f"nodes may be used up to {thresholds.cpu_max:.0%}, learned from {len(history)} periods ({rewards})"
    return replace(run, profile=profile, messages=(*run.messages, message))


def figures_of(profile: UseProfile) -> dict[str, float | None]:
    """Return the profile of an operator in numbers that people read.

    >>> figures_of(UseProfile(weight=1.0, rows=100.0, seconds=0.5, source_rows=200.0))["slot_rows_per_s"]
    200.0
    """
    line = profile.line
    values = {
        "selectivity": profile.selectivity,
        "row_seconds": line.slope,
        "task_seconds": line.base,
        "slot_rows_per_s": 1 / line.slope if line.slope > 0 else float("nan"),
        "computing_share": profile.computing_share,
        "memory_bytes": profile.memory,
        "error": profile.error,
        "readings": profile.weight,
    }
    return {name: None if isnan(value) else round(value, 9) for name, value in values.items()}


def _await_first(query: Query, shown: Sequence[Progress]) -> None:
    """Wait for the first epoch with rows; it does not count, code is still being compiled."""
    deadline = time.monotonic() + _START_UP
    while not any(p.rows for p in shown):
        if not query.is_active:
            query.await_termination()
        if not query.is_active or time.monotonic() > deadline:
            raise ConfigurationError(
                f"topology {query.name!r}: no rows arrived within {_START_UP:.0f} s, so there is nothing to learn "
                "from: let the sources have rows while the profile is made"
            )
        time.sleep(0.05)


def _run_phases(
    query: Query,
    shown: Sequence[Progress],
    phases: Sequence[SweepStep],
    seconds: float,
    step: Callable[[SweepStep, float], None],
) -> tuple[float, bool]:
    """Run the sweep. Return how long it took, and whether it ended early because the sources had no more rows."""
    limits = _limits_of(query)
    began = last = time.monotonic()
    epochs = len(shown)
    most = max(p.rows for p in shown)
    for number, phase in enumerate(phases):
        query.rescale(phase.slots)
        _limit(limits, phase.share, most)
        while time.monotonic() - began < seconds * (number + 1) / len(phases):
            step(phase, min((time.monotonic() - began) / seconds, 1.0))
            time.sleep(0.1)
            if len(shown) > epochs:
                epochs, last = len(shown), time.monotonic()
                most = max(most, shown[-1].rows)
            if not query.is_active or time.monotonic() - last > _IDLE:
                return time.monotonic() - began, True
    step(phases[-1], 1.0)
    return time.monotonic() - began, False


def _limits_of(query: Query) -> SourceLimits | None:
    """The read limits of a query's sources; None if Spark's internals differ from those of the versions known here."""
    try:
        return SourceLimits(query._spark_query, query._job.sources[0].frame.sparkSession)
    except (Py4JError, AttributeError):
        return None


def _limit(limits: SourceLimits | None, share: float, most: int) -> None:
    """Let an epoch read a share of the rows that the largest had. A limit in files cannot be told in rows: it stays."""
    if limits is not None and share < 1.0:
        limits.set({s.number: max(int(share * most), 1) for s in limits.sources if s.unit == "rows"})


def _discard(df: object, epoch: int) -> None:
    """The sink of a profiling phase: nothing is written."""


def _quiet(phase: SweepStep, share: float) -> None:
    """Tell nobody about the steps of the sweep."""
