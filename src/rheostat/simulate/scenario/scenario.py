"""Scenarios: a workload, a cluster, operators and a policy, read from a TOML file.

```toml
title = "Keys that shift every half minute"
seconds = 120
engine = "continuous"        # row by row; "epochs" simulates Spark's micro-batches
interval = 0.5               # seconds between two decisions

[cluster]
nodes = 32
cores = 8

[workload]
kind = "micro"               # micro, market, saturated-market, sinusoid, nexmark, wordcount, constant, curve, recorded
rate = 200_000
omega = 2

[[operators]]
name = "calculator"
cost = 0.001                 # seconds of a core per row
executors = 32               # elastic executors; or slots = 256

[policy]
name = "elasticutor"         # static, balance, resource-centric, naive-ec, streamswitch, drs, drs-lb
bound = 0.02

[success]                    # optional: measure how often the mean latency over a window was within a bound
seconds = 1.0
window = 1.0
```
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rheostat.elastic.model.plan import OperatorPlan, Plan
from rheostat.elastic.model.policy import Policy
from rheostat.errors import ConfigurationError, TopologyError
from rheostat.simulate.continuous.engine import Continuous
from rheostat.simulate.epochs import EPOCH_SECONDS, TASK_SECONDS, Epochs
from rheostat.simulate.job import Cluster, Costs, Job, Operator, Timing
from rheostat.simulate.scenario.policy_table import make_policy, switch_policy
from rheostat.simulate.scenario.toml_table import build, check_keys, check_table, field_types
from rheostat.simulate.scenario.workload_table import make_workload
from rheostat.simulate.simulation import LatencyBound, Simulation, SimulationEngine
from rheostat.workloads.arrivals import Workload

_TOP = {
    "title": str,
    "seconds": float,
    "warm_up": float,
    "engine": str,
    "interval": float,
    "tick": float,
    "patience": float,
    "seed": int,
    "every": int,
    "overhead": float,
    "task": float,
}
"""Keys outside of all tables, with their types."""

_TABLES = {"cluster", "costs", "workload", "operators", "policy", "success"}

_REQUIRED = {"seconds": "seconds = 60", "workload": "[workload]", "operators": "[[operators]]", "policy": "[policy]"}
"""Keys and tables that every file must have, and how to write them."""

_ONLY = {"continuous": {"interval", "tick", "patience", "costs"}, "epochs": {"overhead", "task"}}
"""Keys and tables that only one engine reads."""

_SPARE_SLOTS = 8
"""Slots that an operator may have beyond the number of cores."""

_OPERATOR_KEYS = {"slots": int, "executors": int, "weights": str}
"""Keys of an operator besides the fields of ``Operator``, with their types; here ``weights`` is a name."""


@dataclass(frozen=True)
class Scenario:
    """Everything that a simulation needs; ``simulation`` makes it ready to run.

    Attributes:
        title: title of the figure and of the progress bar.
        seconds: seconds to simulate.
        cluster: nodes and their network.
        workload: the rows that arrive.
        job: the operators.
        plan: the initial plan.
        policy: the policy.
        engine: ``continuous`` or ``epochs``.
        timing: length of intervals and ticks; only for the continuous engine.
        costs: costs of changes, and limits of queues; only for the continuous engine.
        patience: seconds that rows wait in front of the job when full queues stop the source; only for the continuous
            engine.
        overhead: seconds that every epoch takes, besides its stages; only for epochs.
        task: seconds of a core that every slot takes in every epoch, besides its rows; only for epochs.
        every: number of intervals or epochs from one decision of the policy to the next.
        warm_up: seconds at the start that do not count for the figures.
        success: the latency bound that success is measured by; None to measure no success.
        seed: seed of all random numbers.
        room: number of slots that each operator may have; only for the continuous engine.
        notes: sentences for the user about values of the file that were replaced or left out.

    >>> text = '''
    ... title = "steady"
    ... seconds = 20
    ... [cluster]
    ... nodes = 2
    ... [workload]
    ... kind = "constant"
    ... rate = 100
    ... shards = 8
    ... [[operators]]
    ... name = "work"
    ... cost = 0.001
    ... slots = 2
    ... [policy]
    ... name = "static"
    ... '''
    >>> steady = Scenario.of(tomllib.loads(text))
    >>> round(steady.simulation().run(steady.seconds).mean_throughput(), -1)
    100.0
    """

    title: str
    seconds: float
    cluster: Cluster
    workload: Workload
    job: Job
    plan: Plan
    policy: Policy
    engine: str = "continuous"
    timing: Timing = Timing()
    costs: Costs = Costs()
    patience: float = float("inf")
    overhead: float = EPOCH_SECONDS
    task: float = TASK_SECONDS
    every: int = 1
    warm_up: float = 0.0
    success: LatencyBound | None = None
    seed: int = 1
    room: int = 64
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.engine not in ("continuous", "epochs"):
            raise ConfigurationError(f'engine = {self.engine!r}: choose "continuous" or "epochs"')
        if not (0 < self.seconds <= self.workload.seconds and self.seconds < np.inf):
            most = f", at most the {self.workload.seconds:g} of the workload" if self.workload.seconds < np.inf else ""
            raise ConfigurationError(f"seconds = {self.seconds:g}: write a finite number above 0{most}")
        for name in ("patience", "overhead", "task", "warm_up"):
            if not getattr(self, name) >= 0:
                raise ConfigurationError(f"{name} = {getattr(self, name):g}: write a number of seconds, 0 or more")
        if not self.warm_up < self.seconds:
            raise ConfigurationError(
                f"warm_up = {self.warm_up:g}: write fewer seconds than the {self.seconds:g} of the run"
            )
        for name, value, least in (("every", self.every, 1), ("seed", self.seed, 0)):
            if value < least:
                raise ConfigurationError(f"{name} = {value}: write a whole number, {least} or more")
        operators = {o.name for o in self.job.operators}
        check_keys("[policy] bounds", getattr(self.policy, "bounds", {}), operators)
        check_keys("[success] operators", self.success.operators if self.success else {}, operators)

    @classmethod
    def read(cls, path: Path, policy: str | None = None, seconds: float | None = None, **changes: Any) -> Scenario:
        """Return the scenario of a file.

        Args:
            path: the file.
            policy: name of another policy, which keeps the values of the file that it knows; None for the file's.
            seconds: seconds to simulate; a warm-up that is too long for them becomes half of them. None for the file's.
            **changes: values of other keys outside of all tables; None keeps the file's.
        """
        try:
            content = tomllib.loads(path.read_text())
        except ValueError as error:  # not TOML, or not UTF-8
            raise ConfigurationError(f"{path} is not TOML: {error}") from error
        content |= {key: value for key, value in changes.items() if value is not None}
        notes = []
        try:
            if policy is not None:
                content["policy"], note = switch_policy(content.get("policy", {"name": policy}), policy)
                notes += [note] if note else []
            if seconds is not None:
                content["seconds"] = seconds
                if isinstance(warm_up := content.get("warm_up"), int | float) and not warm_up < seconds:
                    content["warm_up"] = seconds / 2
                    notes.append(
                        f"the warm-up of {warm_up:g} s is too long for a run of {seconds:g} s: using {seconds / 2:g} s"
                    )
            return cls.of(content, tuple(notes))
        except (ConfigurationError, TopologyError) as error:
            raise ConfigurationError(f"{path}: {error}") from error

    @classmethod
    def of(cls, content: Mapping[str, Any], notes: tuple[str, ...] = ()) -> Scenario:
        """Return the scenario of the parsed content of a file, with these notes for the user."""
        check_keys("", content, set(_TOP) | _TABLES)
        for key, text in _REQUIRED.items():
            if key not in content:
                raise ConfigurationError(f"missing {key}: write {text}, as the files in scenarios/ do")
        top = check_table("", {key: value for key, value in content.items() if key in _TOP}, _TOP)
        _check_engine_keys(top.get("engine", "continuous"), content)
        interval = top.pop("interval", 1.0)
        tick = top.pop("tick", min(0.01, interval))
        cluster = build(Cluster, "[cluster]", content.get("cluster", {}))
        workload, note = make_workload(content["workload"])
        entries = _operator_entries(content["operators"])
        job = _job(entries, workload)
        plan = _plan(entries, job, cluster)
        return cls(
            title=top.pop("title", "simulation"),
            cluster=cluster,
            workload=workload,
            job=job,
            plan=plan,
            policy=make_policy(content["policy"]),
            timing=Timing(tick, interval),
            costs=build(Costs, "[costs]", content.get("costs", {})),
            success=build(LatencyBound, "[success]", content["success"]) if "success" in content else None,
            room=max(cluster.total, *(len(p.nodes) for p in plan.operators.values())) + _SPARE_SLOTS,
            notes=(*notes, note) if note else notes,
            **top,
        )

    def simulation(self) -> Simulation:
        """Return the simulation, ready to run."""
        parts = (self.job, self.cluster, self.workload, self.plan)
        engine: SimulationEngine
        if self.engine == "epochs":
            engine = Epochs(*parts, seed=self.seed, overhead=self.overhead, task=self.task)
        else:
            engine = Continuous(
                *parts,
                seed=self.seed,
                timing=self.timing,
                costs=self.costs,
                pause=self.policy.pause,
                patience=self.patience,
                room=self.room,
            )
        return Simulation(engine, self.policy, self.every, self.success, self.warm_up)


def _check_engine_keys(engine: str, content: Mapping[str, Any]) -> None:
    """Raise ``ConfigurationError`` if a file has keys or tables that only another engine reads."""
    for other, keys in _ONLY.items():
        unused = sorted(keys & set(content))
        if engine in _ONLY and other != engine and unused:
            names = ", ".join(unused)
            raise ConfigurationError(f'{names}: only engine = "{other}" reads this; leave it out for "{engine}"')


def _operator_entries(entries: Any) -> list[dict[str, Any]]:
    """Return the checked tables ``[[operators]]``, one for each operator."""
    if not isinstance(entries, list) or not entries:
        raise ConfigurationError(
            "operators: write [[operators]], with two brackets on each side, once for every operator"
        )
    types, checked = {**field_types(Operator), **_OPERATOR_KEYS}, []
    for place, entry in enumerate(entries):
        name = entry.get("name", place + 1) if isinstance(entry, Mapping) else place + 1
        checked.append(check_table(f"[[operators]] {name!r}", entry, types, ("name", "cost")))
        if {"slots", "executors"} <= set(entry):
            raise ConfigurationError(f"[[operators]] {name!r}: write slots or executors, not both")
    return checked


def _job(entries: list[dict[str, Any]], workload: Workload) -> Job:
    """Return the job. By default, an operator has the shards of the workload and reads from the one before it."""
    operators = []
    for place, entry in enumerate(entries):
        values = {key: value for key, value in entry.items() if key not in ("slots", "executors")}
        values.setdefault("shards", workload.shards)
        values.setdefault("inputs", (entries[place - 1]["name"],) if place else ())
        weights = values.pop("weights", None)
        if weights not in (None, "words"):
            raise ConfigurationError(
                f'[[operators]] {entry["name"]!r} weights = "{weights}": write "words" or leave it out'
            )
        if weights == "words":
            if not hasattr(workload, "count_weights"):
                raise ConfigurationError(
                    f'[[operators]] {entry["name"]!r} weights = "words": this needs a workload of kind "wordcount"'
                )
            values["weights"] = workload.count_weights(values["shards"])
        operators.append(Operator(**values))
    return Job(tuple(operators))


def _plan(entries: list[dict[str, Any]], job: Job, cluster: Cluster) -> Plan:
    """Return the initial plan: the slots of all operators go to the nodes in turn."""
    plans, first = {}, 0
    for entry, operator in zip(entries, job.operators, strict=True):
        count = entry.get("executors", entry.get("slots", 1))
        if not 1 <= count <= operator.shards:
            raise ConfigurationError(
                f"[[operators]] {operator.name!r}: {count} slots or executors; write 1 to {operator.shards}"
            )
        if "executors" in entry:
            plans[operator.name] = OperatorPlan.elastic(operator.shards, count, cluster.nodes, cluster.total, first)
        else:
            plans[operator.name] = OperatorPlan.even(operator.shards, count, cluster.nodes, first)
        first += count
    if first > cluster.total:
        raise ConfigurationError(
            f"the operators start with {first} slots, but the cluster has {cluster.total} cores: write fewer slots or "
            "more nodes"
        )
    return Plan(plans, cluster.nodes)
