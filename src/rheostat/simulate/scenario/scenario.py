"""Scenarios: any workload, on any cluster, under any policy, from a TOML file.

```toml
title = "Keys that shift every half minute"
seconds = 120
engine = "continuous"        # row by row; "epochs" for what Spark does
interval = 0.5               # seconds between two plans

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

[success]                    # optional: how often mean latency over a window was within a bound
seconds = 1.0
window = 1.0
```
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from rheostat.elastic.model.plan import OperatorPlan, Plan
from rheostat.elastic.model.policy import Policy
from rheostat.errors import ConfigurationError, TopologyError
from rheostat.simulate.continuous.engine import Continuous
from rheostat.simulate.epochs import Epochs
from rheostat.simulate.job import Cluster, Costs, Job, Operator, Timing
from rheostat.simulate.scenario.policy_table import make_policy, renamed
from rheostat.simulate.scenario.toml_table import checked, kinds_of, known, made
from rheostat.simulate.scenario.workload_table import make_workload
from rheostat.simulate.simulation import LatencyBound, Simulation, SimulationEngine
from rheostat.workloads.arrivals import Workload

__all__ = ["Scenario", "make_policy"]

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
_PARTS = {"cluster", "costs", "workload", "operators", "policy", "success"}
_ONLY = {"continuous": {"interval", "tick", "patience", "costs"}, "epochs": {"overhead", "task"}}
"""What only one engine reads."""
_PLACED = {"slots": int, "executors": int, "weights": str}
"""What a file says of an operator besides its own attributes."""


@dataclass(frozen=True)
class Scenario:
    """What is simulated; ``simulation`` makes it ready to run.

    Attributes:
        title: for figures and progress.
        seconds: how long it is simulated.
        cluster: nodes and their network.
        workload: where rows come from.
        job: operators and how rows go between them.
        plan: where operators run at first.
        policy: who decides.
        engine: ``continuous`` or ``epochs``.
        timing: how finely time is cut; continuous engine.
        costs: of changes, and bounds of queues; continuous engine.
        patience: seconds that rows wait in front of the job when full queues stop the source; continuous engine.
        overhead: seconds that every epoch costs; engine with epochs.
        task: seconds of a core that every slot costs in every epoch; engine with epochs.
        every: intervals between two decisions.
        warm_up: seconds that do not count.
        success: the bound that success is measured by, if any.
        seed: everything random follows from it.
        room: slots that an operator may have at most; continuous engine.
        notes: what was changed in what the file says, in words.

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
    overhead: float = 0.25
    task: float = 0.02
    every: int = 1
    warm_up: float = 0.0
    success: LatencyBound | None = None
    seed: int = 1
    room: int = field(default=64)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.engine not in ("continuous", "epochs"):
            raise ConfigurationError(f'engine = {self.engine!r}: choose "continuous" or "epochs"')
        if not (0 < self.seconds <= self.workload.seconds and self.seconds < np.inf):
            longest = (
                f", and at most the workload's {self.workload.seconds:g}" if self.workload.seconds < np.inf else ""
            )
            raise ConfigurationError(f"seconds = {self.seconds:g}: write a finite number above 0{longest}")
        for name in ("patience", "overhead", "task", "warm_up"):
            if not getattr(self, name) >= 0:
                raise ConfigurationError(f"{name} = {getattr(self, name):g}: write a number of seconds, 0 or more")
        if not self.warm_up < self.seconds:
            raise ConfigurationError(
                f"warm_up = {self.warm_up:g}: write fewer than the {self.seconds:g} seconds of the run"
            )
        if self.every < 1 or self.seed < 0:
            raise ConfigurationError(f"every = {self.every}, seed = {self.seed}: write 1 or more, and 0 or more")
        operators = {o.name for o in self.job.operators}
        known("[policy] bounds", getattr(self.policy, "bounds", {}), operators)
        known("[success] operators", self.success.operators if self.success else {}, operators)

    @classmethod
    def read(cls, path: Path, policy: str | None = None, seconds: float | None = None, **changes: Any) -> Scenario:
        """From a file; what is given besides replaces values of the file.

        Another policy keeps the values of the file that it knows. A shorter run has a warm-up of half of it at most.
        """
        try:
            given = tomllib.loads(path.read_text())
        except ValueError as error:  # no TOML, or no text at all
            raise ConfigurationError(f"{path} is not TOML: {error}") from error
        given |= {key: value for key, value in changes.items() if value is not None}
        notes = []
        try:
            if policy is not None:
                given["policy"], note = renamed(given.get("policy", {"name": policy}), policy)
                notes += [note] if note else []
            if seconds is not None:
                given["seconds"] = seconds
                if isinstance(warm_up := given.get("warm_up"), int | float) and not warm_up < seconds:
                    given["warm_up"] = seconds / 2
                    notes.append(f"a warm-up of {warm_up:g} s is too long for {seconds:g} s: it is {seconds / 2:g} s")
            return cls.of(given, tuple(notes))
        except (ConfigurationError, TopologyError) as error:
            raise ConfigurationError(f"{path}: {error}") from error

    @classmethod
    def of(cls, given: Mapping[str, Any], notes: tuple[str, ...] = ()) -> Scenario:
        """From the values of a file."""
        known("a scenario", given, set(_TOP) | _PARTS)
        needed = {
            "seconds": "seconds = 60",
            "workload": "[workload]",
            "operators": "[[operators]]",
            "policy": "[policy]",
        }
        for part, text in needed.items():
            if part not in given:
                raise ConfigurationError(f"a scenario needs {part}: write {text}, as the files in scenarios/ do")
        top = checked("", {key: value for key, value in given.items() if key in _TOP}, _TOP)
        engine = top.get("engine", "continuous")
        for other, keys in _ONLY.items():
            if engine in _ONLY and other != engine and (idle := sorted(keys & set(given))):
                names = ", ".join(idle)
                raise ConfigurationError(f'{names}: only engine = "{other}" reads this; leave it out for "{engine}"')
        interval = top.pop("interval", 1.0)
        tick = top.pop("tick", min(0.01, interval))
        cluster = made(Cluster, "[cluster]", given.get("cluster", {}))
        workload = make_workload(given["workload"])
        entries = _entries(given["operators"])
        job = _job(entries, workload)
        plan = _plan(entries, job, cluster)
        return cls(
            title=top.pop("title", "simulation"),
            cluster=cluster,
            workload=workload,
            job=job,
            plan=plan,
            policy=make_policy(given["policy"]),
            timing=Timing(tick, interval),
            costs=made(Costs, "[costs]", given.get("costs", {})),
            success=made(LatencyBound, "[success]", given["success"]) if "success" in given else None,
            room=max(cluster.total, *(len(p.nodes) for p in plan.operators.values())) + 8,
            notes=notes,
            **top,
        )

    def simulation(self) -> Simulation:
        """The engine and the policy, ready to run."""
        given = (self.job, self.cluster, self.workload, self.plan)
        engine: SimulationEngine
        if self.engine == "epochs":
            engine = Epochs(*given, seed=self.seed, overhead=self.overhead, task=self.task)
        else:
            engine = Continuous(
                *given,
                seed=self.seed,
                timing=self.timing,
                costs=self.costs,
                pause=self.policy.pause,
                patience=self.patience,
                room=self.room,
            )
        return Simulation(engine, self.policy, self.every, self.success, self.warm_up)


def _entries(given: Any) -> list[dict[str, Any]]:
    """What the file says of every operator, one after the other."""
    if not isinstance(given, list) or not given:
        raise ConfigurationError(
            "operators: write [[operators]], with two brackets on each side, once for every operator"
        )
    kinds, found = {**kinds_of(Operator), **_PLACED}, []
    for place, entry in enumerate(given):
        name = entry.get("name", place + 1) if isinstance(entry, Mapping) else place + 1
        found.append(checked(f"[[operators]] {name!r}", entry, kinds, ("name", "cost")))
        if {"slots", "executors"} <= set(entry):
            raise ConfigurationError(f"[[operators]] {name!r}: write slots or executors, not both")
    return found


def _job(entries: list[dict[str, Any]], workload: Workload) -> Job:
    operators = []
    for place, entry in enumerate(entries):
        values = {key: value for key, value in entry.items() if key not in ("slots", "executors")}
        values.setdefault("shards", workload.shards)
        values.setdefault("inputs", (entries[place - 1]["name"],) if place else ())
        weights = values.pop("weights", None)
        if weights not in (None, "words"):
            raise ConfigurationError(f'[[operators]] {entry["name"]!r} weights = "{weights}": only "words" is known')
        if weights == "words":
            if not hasattr(workload, "count_weights"):
                raise ConfigurationError('weights = "words" needs a workload of kind "wordcount"')
            values["weights"] = workload.count_weights(values["shards"])
        operators.append(Operator(**values))
    return Job(tuple(operators))


def _plan(entries: list[dict[str, Any]], job: Job, cluster: Cluster) -> Plan:
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
        raise ConfigurationError(f"the operators begin with {first} slots, but there are {cluster.total} cores")
    return Plan(plans, cluster.nodes)
