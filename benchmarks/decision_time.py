"""How long a policy takes to decide, with as many shards as a checkpoint can have. No Spark."""

from __future__ import annotations

import time

import numpy as np

from rheostat.arrays import Floats
from rheostat.elastic.model.law_fit import LawFit
from rheostat.elastic.model.observation import LatencySummary, Observation, OperatorObservation
from rheostat.elastic.model.plan import OperatorPlan, Plan
from rheostat.elastic.model.policy import Policy

_COST = 0.004  # seconds of a row
_OVERHEAD, _TASK = 0.3, 0.02  # seconds of an epoch and of each of its tasks
_CORES = 64
_PERIOD = 20  # epochs of a wave of the load


def decision_seconds(policy: Policy, shards: int, epochs: int = 60) -> Floats:
    """Return the seconds of each decision, over epochs whose load rises and falls and whose shards are skewed.

    Each decision takes in one observation and decides; what it decides is the plan of the next epoch.

    Args:
        policy: the policy.
        shards: number of shards.
        epochs: number of decisions.
    """
    rng = np.random.default_rng(1)
    share = rng.permutation(1 / np.arange(1.0, shards + 1))
    share /= share.sum()
    plan = Plan({"count": OperatorPlan.even(shards, 4)}, 1)
    history, fit, now = policy.begin(plan), LawFit.start(), 0.0
    arrived, length, taken = np.zeros(shards), 1.0, []
    for epoch in range(epochs):
        load = 8 + 6 * np.sin(2 * np.pi * epoch / _PERIOD)  # in slots
        rows = rng.poisson(share * load / _COST * length).astype(np.float64)
        arrived = arrived + rows
        seen, length = _observed(plan.operators["count"], rows, arrived, epoch, now, length, fit)
        fit, now = fit.after(seen), now + length
        began = time.perf_counter()
        history = policy.learn(history, seen)
        proposal = policy.decide(history, plan)
        taken.append(time.perf_counter() - began)
        plan = plan.revised(proposal.revisions)
    return np.array(taken)


def _observed(
    plan: OperatorPlan, rows: Floats, arrived: Floats, epoch: int, now: float, span: float, fit: LawFit
) -> tuple[Observation, float]:
    """Return what an epoch would show, and how long it takes."""
    work = rows * _COST
    by_slot = np.bincount(plan.routing, weights=work, minlength=len(plan.nodes)).astype(np.float64)
    busy = min(_OVERHEAD + _TASK * plan.slots + float(by_slot.max()), 30.0)
    latency = span / 2 + busy
    each = np.full(len(rows), latency)
    count = OperatorObservation(
        plan=plan, arrived=arrived, completed=arrived, useful=by_slot, work=work, rows=rows, latency=each, p50=each,
        p99=each, cost=np.full(len(rows), _COST), state=np.full(len(rows), 1e4), traffic=rows * 100 / busy,
    )  # fmt: skip
    seen = Observation(
        time=now + busy, seconds=busy, operators={"count": count}, cores=np.array([_CORES]), epoch=epoch,
        external=float(rows.sum()) / busy, busy=busy, committed=busy, span=span, cpus=float(_CORES),
        latency=LatencySummary(float(rows.sum()), latency, latency, latency), law=fit.law,
    )  # fmt: skip
    return seen, busy
