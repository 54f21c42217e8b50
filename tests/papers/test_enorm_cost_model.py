"""Enorm's machines and jobs: the figures that the paper prints, and how the generated jobs look."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from papers.enorm.testbed.cost_model import TUPLES, EnormNodes, completion_time, fast_job_time, simple_job, touched
from papers.enorm.testbed.random_jobs import large_job
from rheostat.errors import ConfigurationError
from rheostat.planning.enorm.splitting import Form

FREE_MERGES = EnormNodes(merge=0.0)


def test_the_papers_two_completion_times() -> None:
    plan = simple_job(5, 10)
    assert completion_time(FREE_MERGES, plan, Form.COMBINED, TUPLES) == pytest.approx(456)
    assert completion_time(FREE_MERGES, plan, Form.SPLIT, TUPLES) == pytest.approx(512)


def test_merges_are_paid_when_windows_end() -> None:
    free, paid = EnormNodes(per_key=0.0, merge=0.0), EnormNodes(per_key=0.0, merge=6e-3)
    # 456 s: the window of the first five minutes, of five partials, ends once.
    extra = completion_time(paid, simple_job(5), Form.COMBINED, 1000) - completion_time(
        free, simple_job(5), Form.COMBINED, 1000
    )
    assert extra == pytest.approx(5 * 1000 * 6e-3 / 6)


def test_extra_work_takes_its_time() -> None:
    plan = simple_job(5)
    times = [completion_time(FREE_MERGES, plan, Form.COMBINED, 0, extra=x) for x in (0.0, 60.0, 600.0)]
    assert times == pytest.approx([456, 466, 556])


def test_fusion_saves_a_hop_per_operator() -> None:
    engine = EnormNodes()
    times = [fast_job_time(engine, n) for n in (1, 2, 3, 4)]
    assert np.diff(times) == pytest.approx(-engine.hop * TUPLES / 6)
    free = replace(engine, per_tuple=engine.execute)
    assert fast_job_time(free, 1) == fast_job_time(free, 4)
    with pytest.raises(ConfigurationError, match="between 1 and 4"):
        fast_job_time(engine, 5)


def test_touched_keys_are_those_of_random_tuples() -> None:
    rng = np.random.default_rng(2)
    seen = np.mean([len(np.unique(rng.integers(0, 500, 700))) for _ in range(200)])
    assert touched(500, 700) == pytest.approx(seen, rel=0.02)
    assert touched(0, 10) == 0


@pytest.mark.parametrize("operators", [4, 50, 150])
def test_random_jobs_are_as_the_paper_describes_them(operators: int) -> None:
    for seed in range(20):
        job = large_job(operators, np.random.default_rng(seed), sent=100.0)
        names = list(job.attributes)
        sizes = [len(a) for a in job.attributes.values()]
        assert (len(names), sizes[0]) == (operators, 15)
        assert all(1 <= s <= 30 for s in sizes)
        assert all(abs(a - b) <= 3 for a, b in itertools.pairwise(sizes))
        level: dict[str, int] = {}
        for source, target in job.rates:
            level[target] = level.setdefault(source, 0) + 1
        assert set(level) == set(names)
        assert 3 <= max(level.values()) + 1 <= max(3, 0.75 * operators)
        assert all(level[b] == level[a] + 1 for a, b in job.rates)
        for name in names:
            assert sum(r for (s, _), r in job.rates.items() if s == name) <= 100.0
    with pytest.raises(ConfigurationError, match="at least 4"):
        large_job(3, np.random.default_rng(1))
