"""The network of ELYSIUM's paper against other forecasters, on every recorded load.

The first 70 % of a recording are the past, which is the share that the paper trains on. All forecasters learn from it,
and a back-test on it chooses one of them; the paper's network is one of the candidates. The paper's network and the
chosen forecaster then forecast the highest of the next five values, at every moment of the other 30 %. Forecasts that
are too low do the harm, so the share of forecasts that are more than 10 % too low is counted. Any forecaster can lower
that share by forecasting more. The two are therefore compared at equal excess: the network's forecasts are multiplied
by the factor with which they exceed the real peaks as much as the chosen forecaster's do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from papers.claims import Claim, addition
from papers.elysium.testbed.lab import Lab
from rheostat.arrays import Floats
from rheostat.elastic.elysium.forecasts.backtest import ChosenForecaster, Score, choose, score
from rheostat.elastic.elysium.forecasts.boosted_trees import BoostedTrees
from rheostat.elastic.elysium.forecasts.paper_network import HORIZON, PaperNetwork
from rheostat.elastic.elysium.forecasts.seasonal import Seasonal
from rheostat.elastic.elysium.forecasts.series import Series, real_peaks

PAST = 0.7
"""Share of a recording that forecasters learn from."""
QUICK = 4000
"""Number of values of each load that a quick run uses."""


@dataclass(frozen=True)
class ForecastScores:
    """Scores of the forecasts of one load.

    Attributes:
        choice: the forecaster that the back-test chose.
        network: score of the paper's network.
        raised: score of the network with its forecasts scaled to equal excess.
        chosen: score of the chosen forecaster.
    """

    choice: ChosenForecaster
    network: Score
    raised: Score
    chosen: Score


def forecasts(lab: Lab) -> list[Claim]:
    """Return one statement per load, and one about all loads."""
    series = dict(lab.loads.series)
    if lab.run.quick:
        series = {name: s.last(QUICK) for name, s in series.items()}
    scores = {name: _compare(series[name], lab) for name in lab.run.each("forecasts", list(series))}
    rows = [
        (name, side, *(round(v, 4) for v in (s.under, s.over, s.loss)))
        for name, c in scores.items()
        for side, s in (("network", c.network), ("network raised", c.raised), (c.choice.name, c.chosen))
    ]
    lab.run.table("forecasts", ("load", "forecaster", "under", "over", "pinball loss"), rows)
    _draw(lab, scores)
    better = [name for name, c in scores.items() if c.chosen.under < c.raised.under]
    claims = [_claim(lab, name, c) for name, c in scores.items()]
    return [
        *claims,
        addition(
            "forecast-equal-excess",
            "on most loads, the chosen forecaster under-predicts in fewer assessments than the paper's network, at "
            "equal excess over the real peaks",
            f"on {len(better)} of {len(scores)}",
            len(better) > len(scores) / 2,
            _note(lab),
            paper="not in the paper",
        ),
    ]


def _compare(series: Series, lab: Lab) -> ForecastScores:
    cut = int(PAST * len(series))
    past, origins = series.until(cut), np.arange(cut, len(series) - HORIZON + 1)
    real = real_peaks(series, origins, HORIZON)
    seed, quick = lab.run.seed, lab.run.quick
    # The other 30 % are already set aside here, so the network trains on all that it is given.
    network = PaperNetwork(folds=2 if quick else 10, tolerance=1e-2 if quick else 3e-3, seed=seed, trained=1.0)
    candidates = (network, Seasonal(), BoostedTrees(trees=60 if quick else 120, seed=seed))
    choice = choose(candidates, past, HORIZON, stretches=1 if quick else 3)
    forecast = network.fitted(past, HORIZON).peaks(series, origins)
    chosen = score(choice.forecast.peaks(series, origins), real)
    raised = _scale_to_excess(forecast, real, chosen.over)
    return ForecastScores(choice, score(forecast, real), score(raised, real), chosen)


def _scale_to_excess(forecast: Floats, real: Floats, over: float) -> Floats:
    """Return the forecasts times the factor with which their excess over the real peaks is ``over``."""
    low, high = 0.0, 100.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if score(middle * forecast, real).over < over else (low, middle)
    return low * forecast


def _claim(lab: Lab, name: str, scores: ForecastScores) -> Claim:
    return addition(
        f"forecast-{name.replace(' ', '-')}",
        f"{name}: the chosen forecaster under-predicts the highest of the next five values by more than 10 % in fewer "
        "assessments than the paper's network, at equal excess over the real peaks",
        f"{100 * scores.chosen.under:.1f} % ({scores.choice.name}) against {100 * scores.raised.under:.1f} %, both "
        f"with an excess of {100 * scores.chosen.over:.0f} %",
        scores.chosen.under < scores.raised.under,
        _note(lab),
        detail=f"Without scaling, the network has an excess of {100 * scores.network.over:.0f} % and under-predicts in "
        f"{100 * scores.network.under:.1f} % of the assessments.",
        paper="not in the paper",
    )


def _note(lab: Lab) -> str:
    short = f"A quick run uses only the last {QUICK} values, and trains for less time." if lab.run.quick else ""
    return " ".join(part for part in (lab.note, short) if part)


def _draw(lab: Lab, scores: dict[str, ForecastScores]) -> None:
    sides = ("network", "network, equal excess", "chosen")
    with lab.run.figure("forecasts", "Assessments with too low a forecast", width=9.0, height=4.0) as axes:
        for number, side in enumerate(sides):
            values = [100 * (c.network, c.raised, c.chosen)[number].under for c in scores.values()]
            axes[0, 0].barh(np.arange(len(scores)) - 0.25 * number, values, 0.22, label=side)
        axes[0, 0].set_yticks(np.arange(len(scores)) - 0.25, list(scores))
        axes[0, 0].set(xlabel="more than 10 % too low (% of assessments)")
        axes[0, 0].legend()
