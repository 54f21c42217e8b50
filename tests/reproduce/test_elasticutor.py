"""The simulated clusters behind Elasticutor's figures, small, and what is made of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rheostat.elastic.policies import Elasticutor, Static
from rheostat.elastic.policy import Policy
from rheostat.reproduce import elasticutor_exchange, elasticutor_internet
from rheostat.reproduce.elasticutor_runs import ExchangeRun, MicroRun, orders
from rheostat.reproduce.elasticutor_scaling import one_executor
from rheostat.reproduce.run import Run


@pytest.mark.parametrize("policy", [Static(), Elasticutor.published()], ids=lambda p: p.name)
def test_the_micro_benchmark_keeps_cores_busy(policy: Policy) -> None:
    """Two nodes, so 16 cores of 1 ms rows: 16,000 rows a second at most, more than half of that with skewed keys."""
    run = MicroRun(policy, nodes=2, seconds=6.0, warm_up=2.0, executors=2, shards=256)
    assert 8_000 < run.trace().mean_throughput(2.0) < 16_500


def test_executors_may_begin_with_all_cores() -> None:
    run = MicroRun(Elasticutor(), nodes=4, executors=2, shards=8, spread=True)
    plan = run.engine.observed.operators["calculator"]
    assert plan.slots == 32
    assert plan.subspaces is not None
    # Every slot has shards of its executor only, and every executor begins on its own node.
    assert (plan.subspaces.owners[plan.routing] == plan.subspaces.executors).all()
    assert plan.nodes[[0, 16]].tolist() == plan.subspaces.homes.tolist() == [0, 1]
    assert np.bincount(plan.nodes).max() <= 16


def test_large_rows_keep_one_executor_from_scaling() -> None:
    small, large = one_executor(32, 1, 2.0), one_executor(32, 1, 2.0, size=8192.0)
    assert large.throughput < 0.7 * small.throughput


def test_the_exchange_is_one_transactor_and_eleven_others() -> None:
    run = ExchangeRun(Elasticutor(), nodes=2, seconds=2.0, warm_up=0.5)
    assert len(run.job.operators) == 12
    assert {o.inputs for o in run.job.operators[1:]} == {("transactor",)}
    assert (run.plan.cores(2) <= 8).all()
    assert 0 < orders(run.trace(), 0.5) <= run.capacity * 1.31
    assert 0 < elasticutor_exchange.scheduling_seconds(run, times=3) < 1.0


def test_claims_are_computed_and_figures_drawn(tmp_path: Path) -> None:
    run = Run(tmp_path, quick=True)
    found = [*elasticutor_exchange.popular(run), *elasticutor_internet.decisions(run, rounds=1)]
    assert [c.id for c in found] == ["fig15", "internet-scheduling"]
    assert found[0].holds
    assert (tmp_path / "fig15.svg").exists()
