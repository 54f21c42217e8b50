"""Enorm's reproduction: what it writes, and the claims that must hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from papers.claims import Claim
from papers.enorm import (
    added_future_work,
    enorm_evaluation,
    figure_07_08_merges,
    figure_09_throughput,
    figure_11_split_combine,
    figure_14_15_random_jobs,
    figure_16_fast_job,
    section_5_exactness,
    section_7_7_components,
)
from papers.enorm.figure_14_15_random_jobs import BASELINE, COMM, PA, REFINED, WHOLE, measure
from papers.paper_run import Run
from tests.papers.told import assert_well_told


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path, quick=True)


def written(run: Run) -> set[str]:
    return {p.name for p in run.folder.iterdir()}


def test_windows_and_consolidation(run: Run) -> None:
    parts = (figure_07_08_merges, figure_09_throughput, section_7_7_components)
    claims = {c.id: c for part in parts for c in part.reproduce(run)}
    assert claims["fig7-merges"].ours == "86 and 240"
    assert all(c.holds for c in claims.values())
    assert written(run) == {"fig07-08-merges.csv", "fig09.csv", "fig09.svg", "s5.1-forms.csv"}


def test_no_migration_loses_anything(run: Run) -> None:
    (claim,) = section_5_exactness.reproduce(run)
    assert claim.holds
    assert claim.ours.startswith("5 of 5")


def test_comm_has_the_least_traffic_and_refining_less() -> None:
    found = measure(operators=30, jobs=20, seed=1)
    traffic = {method: values[1] for method, values in found.items()}
    assert traffic[COMM] < min(traffic[BASELINE], traffic[PA])
    assert traffic[REFINED] <= traffic[WHOLE] < traffic[COMM]
    assert found[PA][0] < found[COMM][0]


def test_future_work(run: Run) -> None:
    assert [c.holds for c in added_future_work.reproduce(run)] == [True, True]
    assert written(run) == {f"future-{n}.{e}" for n in ("instances", "traffic") for e in ("csv", "svg")}


@pytest.mark.slow
def test_the_whole_paper(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figure_14_15_random_jobs, "SIZES", (20, 30))
    found = enorm_evaluation.reproduce(run)
    assert_well_told(found)
    claims = {c.id: c for c in found}
    must = ("fig7-merges", "fig10-factor", "fig13-ten", "fig15-comm", "fig16-three", "migration-exact")
    assert {name: claims[name].holds for name in must} == dict.fromkeys(must, True)
    assert {f"fig{n:02}.svg" for n in range(9, 17)} <= written(run)


def test_claims_have_different_names_and_say_what_was_seen(run: Run) -> None:
    parts = (figure_09_throughput, figure_11_split_combine, figure_16_fast_job, section_7_7_components)
    claims: list[Claim] = [c for part in (*parts, added_future_work) for c in part.reproduce(run)]
    assert_well_told(claims)
    assert all(c.claim and c.paper and c.ours for c in claims)
    assert all(c.holds for c in claims)
