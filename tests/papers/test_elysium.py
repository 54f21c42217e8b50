"""The reproduction of ELYSIUM: the parts that run quickly, and a quick run of everything, which is slow."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import numpy as np
import pytest

from papers.claims import Claim
from papers.elysium.added_memory_bandwidth import resources
from papers.elysium.elysium_evaluation import reproduce
from papers.elysium.figure_11_latency import by_minute, shared
from papers.elysium.figure_12_two_topologies import together
from papers.elysium.table_2_figure_07_08_estimates import accuracy
from papers.elysium.testbed.assessments import ScalingOutcome
from papers.elysium.testbed.lab import PEAKS, Lab, Runs, prepare
from papers.elysium.testbed.loads import RECORDED_PEAK, recorded_curve
from papers.paper_run import Run
from rheostat.elastic.elysium.configuration import Config
from rheostat.elastic.elysium.forecasts.series import Series
from tests.papers.told import assert_well_told

DATA = Path(os.environ.get("RHEOSTAT_DATA", Path(__file__).parents[3] / "shared" / "data"))


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("RHEOSTAT_DATA", raising=False)
        return prepare(Run(tmp_path_factory.mktemp("elysium"), quick=True))


def by_id(claims: list[Claim]) -> dict[str, Claim]:
    assert_well_told(claims)
    return {claim.id: claim for claim in claims}


def test_estimates_are_within_three_percent(lab: Lab) -> None:
    claims = by_id(accuracy(lab))
    assert all(claims[i].holds for i in ("table2", "fig7-error", "profile-error", "fig8-overhead"))
    for name in ("table2.csv", "fig07.svg", "fig08.svg", "placement.svg"):
        assert (Path(lab.run.folder) / name).stat().st_size > 0


def test_two_topologies_share_a_cluster(lab: Lab) -> None:
    both, found = together(lab)
    claims = by_id(found)
    assert set(both) == {"fig12abc", "fig12def"}
    assert claims["fig12a-nodes"].holds
    assert claims["fig12abc-together"].holds
    assert (Path(lab.run.folder) / "fig12def.svg").stat().st_size > 0


def test_memory_decides_how_many_nodes_there_are(lab: Lab) -> None:
    claims = by_id(resources(lab))
    assert claims["memory-decides"].holds
    assert claims["memory-decides"].paper == "-"
    assert "T2 bandwidth at most 0." in claims["memory-bandwidth-error"].ours
    assert (Path(lab.run.folder) / "resources.csv").stat().st_size > 0


@pytest.mark.parametrize("name", ["stair", "step"])
def test_elysium_saves_nodes_and_degrades_throughput_less_than_joint_scaling(lab: Lab, name: str) -> None:
    curve = lab.curves[name]
    ours, joint = lab.runs("T1", curve, lab.elysium()), lab.runs("T1", curve, lab.joint("T1"))
    assert ours.saved >= joint.saved
    assert ours.degradation < joint.degradation


def test_the_published_policy_looks_at_no_queue(lab: Lab) -> None:
    published, ours = lab.elysium(), lab.ours()
    assert (published.catch_up, published.patience, published.proactive) == (np.inf, 0, False)
    assert np.isfinite(ours.catch_up)
    assert lab.elysium(patience=1).patience == 1


def test_without_recorded_loads_the_note_says_so(lab: Lab) -> None:
    assert "synthetic" in lab.note
    assert set(lab.curves) == {"stair", "step", "square", "sine", "twitter", "world cup"}
    for curve in lab.curves.values():
        assert curve.values.min() > 0
        assert curve.values.mean() * PEAKS["T1"] < PEAKS["T1"]


def test_of_a_recorded_load_the_busiest_hours_are_played_sixty_times_as_fast() -> None:
    hours = np.ones(100)
    hours[70:72] = 5.0, 8.0
    series = Series(np.repeat(hours, 60), start=7200.0)
    found = recorded_curve("r", series, hours=2)
    assert len(found.values) == 120
    assert found.values.max() == pytest.approx(RECORDED_PEAK)
    assert found.values[0] == pytest.approx(RECORDED_PEAK * 5 / 8)
    assert (len(found.past), found.start, found.step) == (70, 7200.0 + 70 * 3600, 3600.0)
    assert found.past.max() == pytest.approx(RECORDED_PEAK / 8)


def outcome_with_latencies(*minutes: tuple[float, float]) -> ScalingOutcome:
    """Two topologies with the given latencies in each minute, except 20 seconds in which T1 restarts."""
    latency = np.repeat(np.array(minutes), 60, axis=0)
    latency[:20, 0] = np.nan
    ones, config = np.ones_like(latency), Config({}, 1)
    return ScalingOutcome(("T1", "T2"), ones, ones, latency, ones, (config,) * len(minutes), (), (), 60)


def test_latency_by_minute_leaves_restarts_out() -> None:
    outcome = outcome_with_latencies((3.0, 1.0), (5.0, 2.0))
    assert by_minute(outcome).tolist() == [3.0, 5.0]
    assert by_minute(outcome, 1).tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("minutes", "holds"),
    [
        (((1.0, 2.0), (1.2, 2.2), (1.1, 2.1)), True),
        (((2.0, 1.0), (2.2, 1.2), (2.1, 1.1)), False),  # T1's is the larger one
        (((1.0, 2.0), (1.2, 20.0), (1.1, 2.0)), False),  # T2's is anything but stable
    ],
)
def test_latencies_of_two_topologies_are_stable_and_in_order_or_not(
    minutes: tuple[tuple[float, float], ...], holds: bool
) -> None:
    steady = {
        "a": Runs([outcome_with_latencies((1.0, 2.0), (1.0, 2.0))]),
        "b": Runs([outcome_with_latencies((1.0, 2.0), (1.0, 2.0))]),
    }
    claim = shared({**steady, "a": Runs([outcome_with_latencies(*minutes)])}, steady)
    assert (claim.holds, claim.ours_holds) == (holds, True)


@pytest.mark.slow
def test_a_quick_run_reaches_what_it_must(tmp_path: Path) -> None:
    """With the recorded loads if there are any, with synthetic ones otherwise."""
    with pytest.MonkeyPatch.context() as patch:
        if (DATA / "load").is_dir():
            patch.setenv("RHEOSTAT_DATA", str(DATA))
        claims = by_id(reproduce(Run(tmp_path, quick=True)))
    must = ["t1-nodes", "t1-degradation", "fig7-error", "profile-error", "fig13-square", "memory-decides"]
    forecasts = [name for name in claims if name.startswith("forecast-") and name != "forecast-equal-excess"]
    assert len(forecasts) == (len(list((DATA / "load").glob("*.csv"))) or 3)
    assert all("both with an excess of" in claims[name].ours for name in forecasts)
    assert {claims[name].origin for name in (*forecasts, "forecast-equal-excess", "memory-decides")} == {"ours"}
    assert [claims[name] for name in (*must, "forecast-equal-excess") if not claims[name].holds] == []
    last_cycle = ("table1-best", "fig6a-degradation", "core-thresholds")
    assert [claims[name].verdict for name in last_cycle] == ["not decided here"] * 3
    with (tmp_path / "fig09.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    printed = [(float(r["paper degradation"]), int(r["paper saved %"])) for r in rows]
    # The last two columns of the paper's table, from the top to the bottom.
    assert printed == [
        *[(0.05, 0), (1.47, 50), (0.98, 0), (1.43, 19), (0.97, 33), (0.97, 32), (0.81, 43), (0.81, 43)],
        *[(0.78, 50), (0.59, 58), (1.49, 25), (1.7, 35), (1.2, 35), (1.25, 25), (1.01, 47)],
        *[(1.25, 24), (0.86, 45), (0.9, 45), (0.99, 13), (1.03, 33), (0.63, 30), (0.17, 22)],
        *[(0.49, 48), (0.48, 50), (0.80, 17), (0.46, 21)],
    ]
    assert all(float(r["degradation"]) >= 0 and 0 <= float(r["saved %"]) < 100 for r in rows)
    t1 = {r["load"]: r for r in rows if r["topology"] == "T1" and r["scaling"] == "joint"}
    for row in rows:
        if row["topology"] == "T1" and row["scaling"] == "ELYSIUM, reactive":
            assert float(row["saved %"]) >= float(t1[row["load"]]["saved %"])
