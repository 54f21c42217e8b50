"""The figures that POSG must reach, on as many streams as fit into half a minute."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from papers.paper_run import Run
from papers.posg import figure_10_time_series
from papers.posg.added_batches import BATCHES, PERIOD, VARIANTS, _excess, _stream_and_estimates
from papers.posg.figure_12_tweets import _trials, tweets
from papers.posg.testbed.shuffle import shuffle_by_posg
from papers.posg.testbed.streams import GroupingTrials, StreamSetting, prepare_stream, trial
from rheostat.arrays import Floats

pytestmark = pytest.mark.slow

SEED = 1


def trials(setting: StreamSetting, streams: int) -> GroupingTrials:
    return GroupingTrials.of([trial(setting, SEED, number) for number in range(streams)])


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path, seed=SEED)


@pytest.mark.parametrize(("skew", "gain"), [(1.0, 0.20), (0.0, 0.04)])
def test_the_gain_over_round_robin(skew: float, gain: float) -> None:
    assert trials(StreamSetting(skew=skew), streams=100).gain >= gain


def test_very_skewed_items_are_placed_nearly_as_by_full_knowledge() -> None:
    found = trials(StreamSetting(skew=2.5), streams=100)
    assert found.posg.mean() <= 1.03 * found.full_knowledge.mean()


def test_the_speedup_of_a_system_of_the_right_size() -> None:
    means = [trials(StreamSetting(provisioning=p / 100), streams=15).speedup.mean() for p in range(100, 110)]
    assert np.mean(means) >= 1.15


def test_the_speedup_with_tweets(run: Run) -> None:
    stream = [tweets(run, 0)]
    speedups = [round_robin / posg for round_robin, posg, _ in (_trials(k, stream, SEED) for k in range(2, 11))]
    assert min(speedups) > 1
    assert np.mean(speedups) >= 1.3


def test_the_change_of_speeds_is_recovered_from_on_a_hundred_streams(run: Run) -> None:
    claims = figure_10_time_series.reproduce(run)
    assert {claim.id: claim.holds for claim in claims} == {"fig10-start": True, "fig10-change": True}


def surely_less(one: Floats, other: Floats) -> int:
    """1 if less, -1 if more, by more than two standard errors over the streams; else 0."""
    apart = other - one
    return int(np.sign(apart.mean())) if abs(apart.mean()) > 2 * apart.std(ddof=1) / np.sqrt(len(apart)) else 0


@pytest.mark.parametrize("skew", [0.0, 1.0, 2.5])
def test_longest_first_is_nowhere_worse_and_somewhere_better(run: Run, skew: float) -> None:
    found = []
    for batch in BATCHES:
        excess = np.array([_excess(*_stream_and_estimates(skew, run, number), batch) for number in range(20)])
        found += [surely_less(excess[:, 3], excess[:, posg]) for posg in (1, 2)]
    for provisioning in (1.0, 1.05):
        setting = StreamSetting(skew=skew, provisioning=provisioning)
        posg, lpt = (
            np.array([shuffle_by_posg(*prepare_stream(setting, SEED, n, *how), period=PERIOD).mean for n in range(10)])
            for how in (VARIANTS["POSG"], VARIANTS["LPT"])
        )
        found.append(surely_less(lpt, posg))
    assert min(found) >= 0
    assert max(found) == 1
