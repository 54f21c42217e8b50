"""Back-tests: scores by hand, no look into the future, and better forecasts of recorded loads."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from rheostat.arrays import Floats
from rheostat.elastic.elysium.forecasts.backtest import backtest, choose, score
from rheostat.elastic.elysium.forecasts.boosted_trees import BoostedTrees
from rheostat.elastic.elysium.forecasts.paper_network import PaperNetwork
from rheostat.elastic.elysium.forecasts.seasonal import Seasonal
from rheostat.elastic.elysium.forecasts.series import Origins, Series, real_peaks
from rheostat.errors import ConfigurationError
from rheostat.workloads.load_traces import read

DATA = Path(os.environ.get("RHEOSTAT_DATA", Path(__file__).parents[5] / "shared" / "data")) / "load"


@dataclass(frozen=True)
class Last:
    """Forecasts a multiple of the last value, and records its calls."""

    factor: float = 1.0
    learned: list[int] = field(default_factory=list)
    asked: list[int] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"last x {self.factor}"

    def fitted(self, history: Series, horizon: int) -> Last:
        self.learned.append(len(history))
        return self

    def peaks(self, series: Series, origins: Origins) -> Floats:
        self.asked.extend(origins.tolist())
        found: Floats = self.factor * series.values[origins - 1]
        return found


def test_a_score_by_hand() -> None:
    # Real peaks of 10: one forecast is 4 too low, one is 1 too high, and one is exactly 10 % too low.
    found = score(np.array([6.0, 11.0, 9.0]), np.array([10.0, 10.0, 10.0]), quantile=0.9)
    assert found.under == pytest.approx(1 / 3)
    assert found.over == pytest.approx(1 / 30)
    assert found.loss == pytest.approx((0.9 * 4 + 0.1 * 1 + 0.9 * 1) / 3 / 10)


def test_every_stretch_is_forecast_from_what_lies_before_it() -> None:
    spy = Last()
    backtest(spy, Series(np.arange(200.0)), horizon=5, stretches=3)
    assert spy.learned == [100, 132, 164]
    assert spy.asked == list(range(100, 196))


def test_the_choice_is_the_forecaster_that_costs_least() -> None:
    rising = Series(np.linspace(1000.0, 2000.0, 300, dtype=np.float64))
    found = choose((Last(0.5), Last(1.01), Last(3.0)), rising, horizon=2)
    assert found.name == "last x 1.01"
    assert found.scores["last x 0.5"].under == 1.0
    assert found.scores["last x 3.0"].over > found.scores["last x 1.01"].over


def test_too_short_a_history_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="a back-test needs"):
        backtest(Last(), Series(np.zeros(30)), horizon=5)


@pytest.mark.skipif(not DATA.is_dir(), reason="RHEOSTAT_DATA names no folder with recorded loads")
@pytest.mark.parametrize("name", ["nyc_taxi", "Twitter_volume_GOOG", "worldcup98_requests_per_minute"])
def test_on_recorded_loads_the_chosen_forecaster_is_too_low_less_often_than_the_papers_network(name: str) -> None:
    series = read(DATA / f"{name}.csv").last(4000)
    past, origins = series.until(2800), np.arange(2800, 3995)
    network = PaperNetwork(folds=2, tolerance=1e-2, trained=1.0)
    found = choose((network, Seasonal(), BoostedTrees(trees=40)), past, 5, stretches=1)
    real = real_peaks(series, origins, 5)
    chosen = score(found.forecast.peaks(series, origins), real)
    paper = score(network.fitted(past, 5).peaks(series, origins), real)
    assert found.name != "network"
    assert chosen.under < paper.under
    assert chosen.loss < paper.loss
