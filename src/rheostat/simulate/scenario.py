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
name = "elasticutor"         # static, resource-centric, naive-ec, streamswitch, drs, drs-lb
bound = 0.02

[success]                    # optional: how often mean latency over a window was within a bound
seconds = 1.0
window = 1.0
```
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from rheostat.elastic.plan import OperatorPlan, Plan
from rheostat.elastic.policies import POLICIES
from rheostat.elastic.policy import Policy
from rheostat.elastic.verdicts import Limits
from rheostat.errors import TopologyError
from rheostat.simulate.continuous import Continuous
from rheostat.simulate.epochs import Epochs
from rheostat.simulate.job import Cluster, Costs, Job, Operator, Timing
from rheostat.simulate.running import Bound, Engine, Simulation
from rheostat.simulate.sources import make_workload
from rheostat.workloads.arrivals import Workload

_TOP = {"title", "seconds", "warm_up", "engine", "interval", "tick", "patience", "seed", "every", "overhead", "task"}
_PARTS = {"cluster", "costs", "workload", "operators", "policy", "success"}


@dataclass(frozen=True)
class Scenario:
    """What is simulated; ``simulation`` makes it ready to run.

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
    success: Bound | None = None
    seed: int = 1
    room: int = field(default=64)

    @classmethod
    def read(cls, path: Path, **changes: Any) -> Scenario:
        """From a file; ``changes`` replace values at its top level or the policy's name."""
        try:
            given = tomllib.loads(path.read_text())
        except tomllib.TOMLDecodeError as error:
            raise TopologyError(f"{path} is not TOML: {error}") from error
        policy = changes.pop("policy", None)
        if policy is not None:
            given["policy"] = {"name": policy}
        try:
            return cls.of({**given, **{k: v for k, v in changes.items() if v is not None}})
        except TopologyError as error:
            raise TopologyError(f"{path}: {error}") from error

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Scenario:
        """From the values of a file."""
        _known("a scenario", given, _TOP | _PARTS)
        for part in ("seconds", "workload", "operators", "policy"):
            if part not in given:
                raise TopologyError(f"a scenario needs {part}")
        cluster = _made(Cluster, given.get("cluster", {}), "cluster")
        workload = make_workload(given["workload"])
        job = _job(given["operators"], workload)
        plan = _plan(given["operators"], job, cluster)
        interval = float(given.get("interval", 1.0))
        tick = float(given.get("tick", min(0.01, interval)))
        made = cls(
            title=str(given.get("title", "simulation")),
            seconds=float(given["seconds"]),
            cluster=cluster,
            workload=workload,
            job=job,
            plan=plan,
            policy=make_policy(given["policy"]),
            timing=Timing(tick, interval),
            costs=_made(Costs, given.get("costs", {}), "costs"),
            success=_made(Bound, given["success"], "success") if "success" in given else None,
            room=max(cluster.total, *(len(p.nodes) for p in plan.operators.values())) + 8,
        )
        simple = {
            k: given[k] for k in ("engine", "patience", "overhead", "task", "every", "warm_up", "seed") if k in given
        }
        made = replace(made, **simple)
        if made.engine not in ("continuous", "epochs"):
            raise TopologyError(f'engine={made.engine!r}: choose "continuous" or "epochs"')
        if not 0 < made.seconds <= workload.seconds:
            raise TopologyError(f"seconds={made.seconds}: above 0, and at most the workload's {workload.seconds}")
        return made

    def simulation(self) -> Simulation:
        """The engine and the policy, ready to run."""
        given = (self.job, self.cluster, self.workload, self.plan)
        engine: Engine
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


def make_policy(given: Mapping[str, Any]) -> Policy:
    """A policy by its name, with values for its attributes, and for those of its limits.

    >>> make_policy({"name": "streamswitch", "margin": 0.1}).limits.margin
    0.1
    """
    name, values = str(given.get("name")), {k: v for k, v in given.items() if k != "name"}
    if name not in POLICIES:
        raise TopologyError(f"policy {name!r}: choose one of {', '.join(sorted(POLICIES))}")
    policy: Any = POLICIES[name]()
    own = {f.name for f in fields(policy)} - {"name", "pause", "waits", "limits"}
    limits = {f.name for f in fields(Limits)} if hasattr(policy, "limits") else set()
    _known(f"policy {name}", values, own | limits)
    bounded = {k: v for k, v in values.items() if k in limits and k not in own}
    if bounded:
        policy = replace(policy, limits=replace(policy.limits, **bounded))
    made: Policy = replace(policy, **{k: v for k, v in values.items() if k in own})
    return made


def _job(given: list[Mapping[str, Any]], workload: Workload) -> Job:
    made = []
    for place, entry in enumerate(given):
        values = {k: v for k, v in entry.items() if k not in ("slots", "executors")}
        shards = int(values.pop("shards", workload.shards))
        weights = values.pop("weights", None)
        if weights == "words":
            if not hasattr(workload, "count_weights"):
                raise TopologyError('weights = "words" needs a workload of kind "wordcount"')
            weights = workload.count_weights(shards)
        elif weights is not None:
            raise TopologyError(f'operators: weights = {weights!r}, but only "words" is known')
        values["inputs"] = tuple(values.get("inputs", () if place == 0 else (given[place - 1].get("name", ""),)))
        if place == 0:
            values["inputs"] = ()
        _known(f"operator {values.get('name', place)!r}", values, {f.name for f in fields(Operator)})
        for needed in ("name", "cost"):
            if needed not in values:
                raise TopologyError(f"operator {values.get('name', place)!r} needs {needed}")
        made.append(Operator(shards=shards, weights=weights, **values))
    return Job(tuple(made))


def _plan(given: list[Mapping[str, Any]], job: Job, cluster: Cluster) -> Plan:
    plans, first = {}, 0
    for entry, operator in zip(given, job.operators, strict=True):
        if "executors" in entry:
            count = int(entry["executors"])
            plans[operator.name] = OperatorPlan.elastic(operator.shards, count, cluster.nodes, cluster.total, first)
        else:
            count = int(entry.get("slots", 1))
            plans[operator.name] = OperatorPlan.even(operator.shards, count, cluster.nodes, first)
        first += count
    if first > cluster.total:
        raise TopologyError(f"the operators begin with {first} slots, but there are {cluster.total} cores")
    return Plan(plans, cluster.nodes)


def _made(kind: Any, values: Mapping[str, Any], what: str) -> Any:
    _known(what, values, {f.name for f in fields(kind)})
    return kind(**{k: tuple(v) if isinstance(v, list) else v for k, v in values.items()})


def _known(what: str, values: Mapping[str, Any], allowed: set[str]) -> None:
    unknown = sorted(set(values) - allowed)
    if unknown:
        raise TopologyError(f"{what} has no {', '.join(unknown)}; known are {', '.join(sorted(allowed))}")
