"""What is claimed of StreamSwitch's figures, judged from results that are made up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from papers.claims import Claim
from papers.paper_run import Run
from papers.side_by_side import Bench
from papers.streamswitch import figure_05_policies as figure_05
from papers.streamswitch import figure_07_09_treatments as figure_07_09
from papers.streamswitch import figure_10_11_parameters as figure_10_11
from papers.streamswitch import figure_12_13_resources as figure_12_13
from papers.streamswitch import figure_14_15_limits as figure_14_15
from papers.streamswitch import figure_16_path as figure_16
from papers.streamswitch import figure_17_bounds as figure_17
from papers.streamswitch import streamswitch_evaluation
from papers.streamswitch.testbed.clips import Clip, WatchedDay
from papers.streamswitch.testbed.named_policies import SwitchOutcome
from papers.streamswitch.testbed.trading_day import DayResult, run_day
from papers.streamswitch.testbed.waves import WaveResult, run_wave
from papers.streamswitch.testbed.word_count import COUNT, SPLIT, WordCountResult, run_word_count
from tests.papers.told import assert_well_told

KINDS = ("scale in", "balance", "scale out")


def result(name: str, rate: float, slots: float, switching: float = 0.1, switch: float = 0.5) -> SwitchOutcome:
    success = np.full(64, rate)
    return SwitchOutcome(name, slots, success, dict.fromkeys(KINDS, 10), switch, switching)


def by_id(found: list[Claim]) -> dict[str, bool]:
    assert len({claim.id for claim in found}) == len(found)
    return {claim.id: claim.holds for claim in found}


def results(*found: SwitchOutcome) -> list[DayResult]:
    return [DayResult(o, [o.success] * 3) for o in found]


PUBLISHED = [
    *(result("Switch(0.2)", 0.96, 9.4), result("Switch(0.4)", 0.98, 11.0)),
    *(result("Static(8)", 0.80, 8.0), result("DRS(0.4)", 0.30, 9.4), result("DRS-LB(0.4)", 0.35, 9.5)),
]
OURS = [
    *(result("Switch+(0.2)", 0.97, 8.4), result("Switch+(0.4)", 0.98, 10.0), result("Static(8)", 0.80, 8.0)),
    *(result("rested DRS(0.4)", 0.94, 8.4), result("rested DRS-LB(0.4)", 0.95, 8.5)),
]


def figure_5(folder: Path, published: list[SwitchOutcome], ours: list[SwitchOutcome]) -> dict[str, Claim]:
    compared = figure_05.Compared(results(*published), results(*ours))
    found = figure_05.claims(Run(folder), published[0], compared)
    assert len({claim.id for claim in found}) == len(found)
    return {claim.id: claim for claim in found}


def test_the_comparison_is_judged_on_the_published_policies(tmp_path: Path) -> None:
    won = figure_5(tmp_path, PUBLISHED, OURS)
    assert won["fig5-published"].verdict == won["fig5-margin"].verdict == won["fig5-drs"].verdict == "yes"
    assert won["fig5-published"].judged.startswith("Switch(0.2) 96.00% with 9.40 slots; Static(8)")
    assert won["fig5-published"].ours.startswith("Switch+(0.2) 97.00% with 8.40 slots; Static(8)")
    assert won["fig5-drs"].ours_holds is False  # with a rest they are better than fixed slots
    assert won["fig5-equal"].origin == "ours"
    assert "fig5-above-static" not in won  # fewer slots than any of ours
    lost = figure_5(tmp_path, [*PUBLISHED, result("DRS(0.3)", 0.99, 8.3)], OURS)["fig5-published"]
    assert (lost.verdict, lost.ours_holds) == ("no", True)
    assert "DRS(0.3) 99.00% with 8.30 slots" in lost.detail
    lost = figure_5(tmp_path, PUBLISHED, [*OURS, result("rested DRS(0.3)", 0.99, 8.3)])["fig5-published"]
    assert (lost.verdict, lost.ours_holds) == ("yes", False)
    better = [*PUBLISHED[:3], result("DRS(0.4)", 0.97, 9.4), PUBLISHED[4]]
    assert figure_5(tmp_path, better, OURS)["fig5-shards"].verdict == "no"
    assert (tmp_path / "fig05.svg").exists()
    assert (tmp_path / "fig05_ours.svg").exists()


def test_how_many_slots_are_used_is_not_decided_where_their_speed_is_not_known(tmp_path: Path) -> None:
    found = figure_5(tmp_path, PUBLISHED, OURS)["fig5-baseline"]
    assert (found.verdict, found.ours_holds) == ("not decided here", True)
    assert "slot speed" in found.chosen
    worse = figure_5(tmp_path, [result("Switch(0.2)", 0.9, 9.4), *PUBLISHED[1:]], OURS)["fig5-baseline"]
    assert worse.verdict == "no"


def test_rivals_that_the_paper_does_not_have_are_our_own_business(tmp_path: Path) -> None:
    plus = [result("DRS+(0.4)", 0.96, 8.4), result("DRS-LB+(0.4)", 0.975, 8.4)]
    found = figure_5(tmp_path, PUBLISHED, [*OURS, *plus])
    verdicts = {name: found[name].verdict for name in ("fig5-equal", "fig5-above-drs+", "fig5-above-drs-lb+")}
    assert verdicts == {"fig5-equal": "no", "fig5-above-drs+": "yes", "fig5-above-drs-lb+": "no"}
    assert {found[name].origin for name in verdicts} == {"ours"}
    assert found["fig5-published"].verdict == "yes"
    beside = results(plus[1], OURS[0], plus[1], OURS[0])
    compared = figure_05.Compared(results(*PUBLISHED), results(*OURS, *plus))
    claims = figure_05.claims(Run(tmp_path), PUBLISHED[0], compared, beside)
    detail = next(claim.detail for claim in claims if claim.id == "fig5-equal")
    assert "As much success with no more slots: DRS-LB+(0.4) 97.50% with 8.40 slots." in detail
    assert "after the second opening, success is Switch+(0.2) 97.00% and DRS-LB+(0.4) 97.50%. Without rest" in detail


def test_a_rival_that_cannot_be_compared_decides_nothing(tmp_path: Path) -> None:
    few = [*PUBLISHED[:3], result("DRS(0.4)", 0.3, 7.0), PUBLISHED[4]]
    found = figure_5(tmp_path, few, OURS)["fig5-above-drs"]
    assert (found.verdict, found.ours_holds) == ("not decided here", True)


def test_other_bounds_are_judged_beside_the_first(tmp_path: Path) -> None:
    theirs = [result("Switch(0.2)", 0.97, 8.4), result("Static(8)", 0.8, 8.0)]
    ours = [result("Switch+(0.2)", 0.97, 8.4), result("Static(8)", 0.8, 8.0)]
    base = {"Switch(0.2)": 0.96, "Switch+(0.2)": 0.96}
    published = {(1.0, 5.0): theirs, (5.0, 1.0): [*theirs, result("DRS(0.4)", 0.98, 8.0)]}
    mine = {(1.0, 5.0): [*ours, result("DRS-LB+(0.38)", 0.98, 8.0)], (5.0, 1.0): ours}
    found = by_id(figure_17.claims(Run(tmp_path), published, mine, base))
    assert found == {
        "fig17-gains": True,
        "fig17-1-5-published": True,
        "fig17-1-5": False,
        "fig17-5-1-published": False,
        "fig17-5-1": True,
    }
    found = by_id(figure_17.claims(Run(tmp_path), published, mine, {**base, "Switch(0.2)": 0.98}))
    assert not found["fig17-gains"]
    days = [figure_17.days(Run(tmp_path, quick)) for quick in (True, False)]
    assert [[len(group) for group in each] for each in days] == [[2, 4], [14, 16]]


def test_parameters_are_judged_by_their_spread(tmp_path: Path) -> None:
    def judge(worst: float) -> dict[str, bool]:
        usual, other = (
            [WaveResult(result("Switch(0.2)", 1.0, 10.0), 0.0)],
            [WaveResult(result("Switch(0.2)", worst, 11.0), 0.0)],
        )
        series = {0.02: other, 0.1: usual, 0.5: other}
        found = {figure_10_11.ALERT: series, figure_10_11.INTERVAL: series}
        rivals = [WaveResult(result("DRS(0.2)", 0.99, 10.5), 0.0)]
        return by_id(figure_10_11.claims(Run(tmp_path), found, found, rivals))

    steady, shaky = judge(0.995), judge(0.9)
    assert (steady["fig10-success"], shaky["fig10-success"]) == (True, False)
    assert (steady["fig10-others"], shaky["fig10-others"]) == (True, False)
    assert steady["fig10-slots"]
    assert steady["fig11-symmetric"]
    assert {"fig10.svg", "fig11.svg"} <= {path.name for path in tmp_path.iterdir()}


def test_mixed_resources_are_judged_by_what_is_used(tmp_path: Path) -> None:
    def judge(mixed: float, rate: float) -> dict[str, bool]:
        slots = {(0.5, 0.2): 12.0, (0.5, 0.4): 13.0, (1.5, 0.2): 9.0, (1.5, 0.4): 8.0}
        found = {
            (f, s): [WaveResult(result("Switch(0.2)", rate, n), mixed if f < 1 else 0.9)] for (f, s), n in slots.items()
        }
        return by_id(figure_12_13.claims(Run(tmp_path), found, found))

    good, bad = judge(0.1, 1.0), judge(0.3, 0.98)
    assert (good["fig12-success"], bad["fig12-success"]) == (True, False)
    assert (good["fig13-preferred"], bad["fig13-preferred"]) == (True, False)
    assert good["fig12-speed"]
    assert good["fig12-share"]
    assert not good["fig12-half"]
    assert {"fig12.svg", "fig13.svg"} <= {path.name for path in tmp_path.iterdir()}


def test_limits_are_judged_by_the_share_of_time_spent_on_switching(tmp_path: Path) -> None:
    def ridden(rate: float, switching: float, switch: float) -> list[WaveResult]:
        return [WaveResult(result("Switch(0.2)", rate, 5.0 + switching, switching, switch), 0.0)]

    waves = {"10K, 90 s": ridden(0.99, 0.1, 0.5), "30K, 70 s": ridden(0.75, 0.3, 1.1)}
    slower = {"10K, 90 s, slower": ridden(0.95, 0.2, 1.0), "30K, 70 s, slower": ridden(0.6, 0.5, 1.8)}
    found = by_id(figure_14_15.dynamics(Run(tmp_path), (waves, slower), (waves, slower), ""))
    assert found == {
        "fig14-success": True,
        "fig14-decreasing": True,
        "fig14-slots": True,
        "fig14-events": False,  # there are always 30
        "fig14-seconds": True,
        "fig14-correlation": True,
    }
    delayed = {"+0 s": ridden(0.99, 0.1, 0.5), "+1 s": ridden(0.9, 0.2, 6.0), "+2 s": ridden(0.8, 0.3, 13.0)}
    found = by_id(figure_14_15.delayed(Run(tmp_path), delayed, delayed))
    assert found == {
        "fig15-amplified": True,
        "fig15-slots": True,
        "fig15-events": False,
        "fig15-share": True,
        "fig15-correlation": True,
    }


def test_splits_of_a_bound_are_judged_by_path_and_operators(tmp_path: Path) -> None:
    def made(bounds: tuple[float, float], split: float, count: float, path: float) -> WordCountResult:
        return WordCountResult(bounds, {SPLIT: split, COUNT: count}, path, {SPLIT: 12.0, COUNT: 24.0}, {})

    found = {
        (0.5, 1.5): [made((0.5, 1.5), 0.85, 0.99, 0.97)],
        (1.0, 1.0): [made((1.0, 1.0), 0.95, 0.95, 0.98)],
        (1.5, 0.5): [made((1.5, 0.5), 0.99, 0.86, 0.96)],
    }
    ours = [(made((1.1, 0.9), 0.95, 0.95, 0.979), made((1.2, 0.8), 0.9, 0.9, 0.9))]
    judged = by_id(figure_16.claims(Run(tmp_path), found, found, ours))
    assert judged == {
        "fig16-path": False,
        "fig16-looser": True,
        "fig16-tight": True,
        "fig16-best": True,
        "fig16-found": True,
    }


def clip(action: str, latency: float) -> Clip:
    """A treatment after which shards that were at 3 s have that latency."""
    time = np.arange(-10.0, 20.0, 0.5) + 0.5
    lanes = np.where(time > 0, latency, 3.0)[:, None].repeat(3, axis=1)
    return Clip(action, 60.0, 0, 1, 3, time, np.full((len(time), 2), 216.0), lanes)


def test_treatments_that_do_not_help_say_what_was_before_them() -> None:
    def judge(*clips: Clip) -> Claim:
        found = figure_07_09.after(clips, clips)
        assert found.id == "fig7-9-back"
        return found

    good = [clip(kind, 0.5) for kind in KINDS]
    assert judge(*good).holds
    missing, late = judge(*good[:2]), judge(*good[:2], clip(KINDS[2], 2.5))
    assert not missing.holds
    assert "no treatment to scale out" in missing.detail
    assert not late.holds
    assert "a latency of 3.00 s" in late.detail
    assert "100%" in late.detail


class Canned(Bench):
    """Runs nothing: what comes of a run depends on its policy alone."""

    def each(self, title: str, function: Callable[[Any], Any], settings: Sequence[Any]) -> list[Any]:
        return [self.made(function, setting) for setting in settings]

    def made(self, function: Callable[[Any], Any], setting: Any) -> Any:
        if function is run_word_count:
            return WordCountResult(setting.bounds, {SPLIT: 0.9, COUNT: 0.9}, 0.98, {SPLIT: 12.0, COUNT: 24.0}, {})
        if function is figure_16.run_derived_bounds:
            return self.made(run_word_count, setting), self.made(run_word_count, setting)
        kind = setting.kind
        rate = {"Switch": 0.96, "Switch+": 0.97, "Static": 0.5, "DRS": 0.3, "DRS-LB": 0.35}.get(kind, 0.9)
        outcome = result(setting.name, rate, 8.5 if kind == "Static" else 8.2)
        if function is run_wave:
            return WaveResult(outcome, 0.1)
        run = DayResult(outcome, [outcome.success] * 3)
        if function is run_day:
            return run
        time = np.arange(5.0, 14_400.0, 5.0)
        values = (np.full(len(time), 8.0), np.full(len(time), 0.2), np.full(len(time), 0.9))
        return WatchedDay(run, time, *values, np.array([[60.0, 8.0]]), tuple(clip(k, 0.5) for k in KINDS))


@pytest.mark.slow
@pytest.mark.parametrize("quick", [True, False])
def test_every_claim_is_told_in_a_quick_run_and_in_a_full_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quick: bool
) -> None:
    @contextmanager
    def canned(run: Run) -> Iterator[Bench]:
        yield Canned(run)

    monkeypatch.setattr(streamswitch_evaluation, "bench", canned)
    claims = {c.id: c for c in streamswitch_evaluation.reproduce(Run(tmp_path, quick))}
    assert_well_told(list(claims.values()))
    ours = {"fig5-equal", "fig5-above-drs-lb+", "fig17-1-5", "fig17-5-1"}
    assert {name for name, c in claims.items() if c.origin == "ours"} == (
        ours if quick else {*ours, "fig5-above-drs+", "fig16-found"}
    )
    assert len(claims) == (49 if quick else 54)
    assert {f"fig{number:02}.svg" for number in range(4, 19)} <= {path.name for path in tmp_path.iterdir()}
    assert claims["fig5-published"].verdict == claims["fig17-1-5-published"].verdict == "yes"
    assert all(c.chosen for c in claims.values())
