"""The reproduction of ELYSIUM: the parts that are quick enough for every day."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rheostat.elastic.forecasts.series import Series
from rheostat.reproduce.claims import Claim
from rheostat.reproduce.elysium_accuracy import accuracy
from rheostat.reproduce.elysium_lab import PEAKS, Lab, prepare
from rheostat.reproduce.elysium_loads import RECORDED_PEAK, recorded
from rheostat.reproduce.elysium_resources import resources
from rheostat.reproduce.elysium_together import together
from rheostat.reproduce.run import Run


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("RHEOSTAT_DATA", raising=False)
        return prepare(Run(tmp_path_factory.mktemp("elysium"), quick=True))


def by_id(claims: list[Claim]) -> dict[str, Claim]:
    found = {claim.id: claim for claim in claims}
    assert len(found) == len(claims)
    return found


def test_estimates_are_within_three_percent(lab: Lab) -> None:
    claims = by_id(accuracy(lab))
    assert all(claims[i].holds for i in ("table2", "fig7-error", "profile-error", "fig8-overhead"))
    for name in ("table2.csv", "fig07.svg", "fig08.svg", "placement.svg"):
        assert (Path(lab.of.folder) / name).stat().st_size > 0


def test_two_topologies_share_a_cluster(lab: Lab) -> None:
    claims = by_id(together(lab))
    assert claims["fig12a-nodes"].holds
    assert claims["fig12abc-together"].holds
    assert (Path(lab.of.folder) / "fig12def.svg").stat().st_size > 0


def test_memory_decides_how_many_nodes_there_are(lab: Lab) -> None:
    claims = by_id(resources(lab))
    assert claims["memory-decides"].holds
    assert claims["memory-decides"].paper == "-"
    assert "T2 bandwidth at most 0." in claims["memory-bandwidth-error"].ours
    assert (Path(lab.of.folder) / "resources.csv").stat().st_size > 0


@pytest.mark.parametrize("name", ["stair", "step"])
def test_elysium_saves_nodes_and_degrades_throughput_less_than_joint_scaling(lab: Lab, name: str) -> None:
    curve = lab.curves[name]
    ours, joint = lab.runs("T1", curve, lab.elysium()), lab.runs("T1", curve, lab.joint("T1"))
    assert ours.saved >= joint.saved
    assert ours.degradation < joint.degradation


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
    found = recorded("r", series, hours=2)
    assert len(found.values) == 120
    assert found.values.max() == pytest.approx(RECORDED_PEAK)
    assert found.values[0] == pytest.approx(RECORDED_PEAK * 5 / 8)
    assert (len(found.past), found.start, found.step) == (70, 7200.0 + 70 * 3600, 3600.0)
    assert found.past.max() == pytest.approx(RECORDED_PEAK / 8)
