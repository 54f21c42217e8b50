"""What is claimed of StreamSwitch's figures, judged from results that are made up."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from papers.claims import Claim
from papers.run import Run
from papers.streamswitch import bounds, comparison, decisions, limits, parameters, path, resources
from papers.streamswitch.clips import Clip
from papers.streamswitch.exchange import Traded
from papers.streamswitch.path import COUNT, SPLIT, Counted
from papers.streamswitch.runs import Outcome
from papers.streamswitch.waves import Ridden

KINDS = ("scale in", "balance", "scale out")
EXPLAINED = (
    *("fig5-equal", "fig5-published", "fig5-above-drs-lb+", "fig5-spread", "fig5-shards", "fig6-balance"),
    *("fig12-speed", "fig12-share", "fig13-preferred", "fig15-events", "fig17-gains", "fig10-slots"),
)
"""Claims that fail in a quick run or a full one, and are to say why."""


def result(name: str, rate: float, slots: float, switching: float = 0.1, switch: float = 0.5) -> Outcome:
    success = np.full(64, rate)
    return Outcome(name, slots, success, dict.fromkeys(KINDS, 10), switch, switching)


def by_id(found: list[Claim]) -> dict[str, bool]:
    assert len({claim.id for claim in found}) == len(found)
    assert [c.id for c in found if c.id in EXPLAINED and not c.holds and not c.note] == []
    return {claim.id: claim.holds for claim in found}


def test_the_comparison_is_lost_to_a_rival_with_fewer_slots(tmp_path: Path) -> None:
    ours = [result("Switch(0.2)", 0.97, 8.4), result("Switch(0.4)", 0.98, 10.0)]
    worse = [result("Static(8)", 0.80, 8.0), result("DRS(0.4)", 0.94, 8.4), result("DRS-LB(0.4)", 0.95, 8.5)]

    def judge(found: list[Outcome]) -> dict[str, bool]:
        return by_id(comparison.claims(Run(tmp_path), [Traded(o, [o.success] * 3) for o in found]))

    won = judge([*ours, *worse])
    assert won["fig5-baseline"]
    assert won["fig5-equal"]
    assert won["fig5-published"]
    assert won["fig5-margin"]
    assert "fig5-above-static" not in won  # fewer slots than any of ours
    lost = judge([*ours, *worse, result("DRS(0.3)", 0.99, 8.3)])
    assert not lost["fig5-equal"]
    assert not lost["fig5-published"]
    assert not judge([*ours, *worse[:2], result("DRS-LB(0.4)", 0.975, 8.5)])["fig5-shards"]
    lost = judge([*ours, *worse, result("DRS-LB(0.5)", 0.99, 9.0)])
    assert lost["fig5-equal"]
    assert not lost["fig5-above-drs-lb"]
    # Rivals that the paper does not have are judged as well, apart from its own.
    lost = judge([*ours, *worse, result("DRS+(0.4)", 0.96, 8.4), result("DRS-LB+(0.4)", 0.975, 8.4)])
    assert lost["fig5-published"]
    assert not lost["fig5-equal"]
    assert lost["fig5-above-drs+"]
    assert not lost["fig5-above-drs-lb+"]
    every = [Traded(o, [o.success] * 3) for o in [*ours, *worse, result("DRS-LB+(0.4)", 0.975, 8.4)]]
    beside = [every[-1], every[0]] * 2
    claims = comparison.claims(Run(tmp_path), every, beside)
    note = next(claim.note for claim in claims if claim.id == "fig5-equal")
    assert "As good with no more slots: DRS-LB+(0.4) 97.50% with 8.40." in note
    assert "after the second opening it is Switch(0.2) 97.00% and DRS-LB+(0.4) 97.50%; without rest" in note
    assert (tmp_path / "fig05.svg").exists()


def test_other_bounds_are_judged_beside_the_first(tmp_path: Path) -> None:
    runs = [result("Switch(0.2)", 0.97, 8.4), result("Static(8)", 0.8, 8.0)]
    plus = result("DRS-LB+(0.38)", 0.98, 8.0)
    seen = {(1.0, 5.0): [*runs, plus], (5.0, 1.0): [*runs, result("DRS(0.4)", 0.98, 8.0)]}
    found = by_id(bounds.claims(Run(tmp_path), seen, {"Switch(0.2)": 0.96}))
    assert found == {
        "fig17-gains": True,
        "fig17-1-5-published": True,
        "fig17-1-5": False,
        "fig17-5-1-published": False,
        "fig17-5-1": False,
    }
    found = by_id(bounds.claims(Run(tmp_path), dict.fromkeys(seen, runs), {"Switch(0.2)": 0.96}))
    assert all(found.values())
    found = by_id(bounds.claims(Run(tmp_path), seen, {"Switch(0.2)": 0.98}))
    assert not found["fig17-gains"]


def test_parameters_are_judged_by_their_spread(tmp_path: Path) -> None:
    def judge(worst: float) -> dict[str, bool]:
        usual, other = (
            [Ridden(result("Switch(0.2)", 1.0, 10.0), 0.0)],
            [Ridden(result("Switch(0.2)", worst, 11.0), 0.0)],
        )
        series = {0.02: other, 0.1: usual, 0.5: other}
        found = {parameters.ALERT: series, parameters.INTERVAL: series}
        rivals = [Ridden(result("DRS(0.2)", 0.99, 10.5), 0.0)]
        return by_id(parameters.claims(Run(tmp_path), found, rivals))

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
            (f, s): [Ridden(result("Switch(0.2)", rate, n), mixed if f < 1 else 0.9)] for (f, s), n in slots.items()
        }
        return by_id(resources.claims(Run(tmp_path), found, (0.5, 1.5), (0.2, 0.4)))

    good, bad = judge(0.1, 1.0), judge(0.3, 0.98)
    assert (good["fig12-success"], bad["fig12-success"]) == (True, False)
    assert (good["fig13-preferred"], bad["fig13-preferred"]) == (True, False)
    assert good["fig12-speed"]
    assert good["fig12-share"]
    assert not good["fig12-half"]
    assert {"fig12.svg", "fig13.svg"} <= {path.name for path in tmp_path.iterdir()}


def test_limits_are_judged_by_the_share_of_time_spent_on_switching(tmp_path: Path) -> None:
    def ridden(rate: float, switching: float, switch: float) -> list[Ridden]:
        return [Ridden(result("Switch(0.2)", rate, 5.0 + switching, switching, switch), 0.0)]

    waves = {"10K, 90 s": ridden(0.99, 0.1, 0.5), "30K, 70 s": ridden(0.75, 0.3, 1.1)}
    slower = {"10K, 90 s, slower": ridden(0.95, 0.2, 1.0), "30K, 70 s, slower": ridden(0.6, 0.5, 1.8)}
    found = by_id(limits.dynamics(Run(tmp_path), waves, slower, ""))
    assert found == {
        "fig14-success": True,
        "fig14-decreasing": True,
        "fig14-slots": True,
        "fig14-events": False,  # there are always 30
        "fig14-seconds": True,
        "fig14-correlation": True,
    }
    delayed = {"+0 s": ridden(0.99, 0.1, 0.5), "+1 s": ridden(0.9, 0.2, 6.0), "+2 s": ridden(0.8, 0.3, 13.0)}
    found = by_id(limits.delayed(Run(tmp_path), delayed))
    assert found == {
        "fig15-amplified": True,
        "fig15-slots": True,
        "fig15-events": False,
        "fig15-share": True,
        "fig15-correlation": True,
    }


def test_splits_of_a_bound_are_judged_by_path_and_operators(tmp_path: Path) -> None:
    def made(bounds: tuple[float, float], split: float, count: float, path: float) -> Counted:
        return Counted(bounds, {SPLIT: split, COUNT: count}, path, {SPLIT: 12.0, COUNT: 24.0}, {})

    found = {
        (0.5, 1.5): [made((0.5, 1.5), 0.85, 0.99, 0.97)],
        (1.0, 1.0): [made((1.0, 1.0), 0.95, 0.95, 0.98)],
        (1.5, 0.5): [made((1.5, 0.5), 0.99, 0.86, 0.96)],
    }
    ours = [(made((1.1, 0.9), 0.95, 0.95, 0.979), made((1.2, 0.8), 0.9, 0.9, 0.9))]
    judged = by_id(path.claims(Run(tmp_path), found, ours))
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
        found = decisions.after(clips)
        assert found.id == "fig7-9-back"
        return found

    good = [clip(kind, 0.5) for kind in KINDS]
    assert judge(*good).holds
    missing, late = judge(*good[:2]), judge(*good[:2], clip(KINDS[2], 2.5))
    assert not missing.holds
    assert "none to scale out" in missing.note
    assert not late.holds
    assert "3.00 s late" in late.note
    assert "100%" in late.note
