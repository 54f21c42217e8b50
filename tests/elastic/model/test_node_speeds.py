"""The speed of nodes: found from useful seconds per row, whatever an operator's rows cost and however noisy it is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheostat.arrays import Floats
from rheostat.elastic.model.node_speeds import NodeSpeeds
from rheostat.elastic.model.observation import OperatorObservation
from rheostat.elastic.model.plan import OperatorPlan

SPEEDS = {"0": 1.0, "1": 0.5, "2": 1.5}


def operator(random: np.random.Generator, cost: Floats, where: tuple[str, ...], noise: float) -> OperatorObservation:
    """Rows of 24 shards on some executors.

    Args:
        random: source of chance.
        cost: seconds of a row on a node of speed 1, by shard.
        where: the executor of every slot.
        noise: relative noise of what slots measure.
    """
    rows = random.integers(50, 150, 24).astype(float)
    plan = OperatorPlan.even(24, len(where))
    slowness = random.lognormal(0.0, noise, len(where)) / np.array([SPEEDS[executor] for executor in where])
    work = rows * cost * slowness[plan.routing]
    useful: Floats = np.bincount(plan.routing, weights=work, minlength=len(where)).astype(np.float64)
    return OperatorObservation(
        plan=plan, arrived=rows, completed=rows, rows=rows, useful=useful, work=work, executors=where
    )


@given(st.integers(0, 2**32 - 1))
def test_speeds_are_found_within_ten_percent(seed: int) -> None:
    random = np.random.default_rng(seed)
    speeds, costs = NodeSpeeds(), random.uniform(0.5, 2.0, 24)
    for _ in range(60):
        slots = tuple(random.permutation(["0", "1", "2", "0", "1", "2"]).tolist())
        cheap, dear = (
            operator(random, 1e-5 * costs, slots, 0.05),
            operator(random, 3e-3 * costs, slots[:3][::-1] + slots[3:], 0.05),
        )
        speeds = speeds.after({"cheap": cheap, "dear": dear})
    assert speeds.of("1") / speeds.of("0") == pytest.approx(0.5, rel=0.1)
    assert speeds.of("2") / speeds.of("0") == pytest.approx(1.5, rel=0.1)


def test_one_node_alone_and_what_was_not_measured_change_nothing() -> None:
    random = np.random.default_rng(1)
    assert NodeSpeeds().after({"sums": operator(random, np.full(24, 1e-3), ("1", "1"), 0.0)}).logs == {}
    bare = OperatorObservation(
        plan=OperatorPlan.even(2, 2), arrived=np.zeros(2), completed=np.zeros(2), useful=np.zeros(2)
    )
    assert NodeSpeeds().after({"sums": bare}).logs == {}
    assert NodeSpeeds().by_node(("7", "")).tolist() == [1.0, 1.0]
