"""The runs behind StreamSwitch's figures, small, and what is made of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.elastic.drs import drs, fewest_slots
from rheostat.elastic.plan import Action, OperatorPlan, Plan
from rheostat.elastic.policy import Pause
from rheostat.elastic.readings import Readings
from rheostat.elastic.verdicts import Limits
from rheostat.reproduce import (
    streamswitch,
    streamswitch_bounds,
    streamswitch_comparison,
    streamswitch_decisions,
    streamswitch_limits,
    streamswitch_parameters,
    streamswitch_path,
    streamswitch_resources,
)
from rheostat.reproduce.claims import Claim
from rheostat.reproduce.run import Run
from rheostat.reproduce.streamswitch_bursts import Restless, _wander
from rheostat.reproduce.streamswitch_clips import Watched, watched
from rheostat.reproduce.streamswitch_engines import Flink, Samza
from rheostat.reproduce.streamswitch_exchange import NAME, Day, Part, Traded, simulated, state, traded, weighed
from rheostat.reproduce.streamswitch_path import COUNT, SPLIT, Counted, Words, counted
from rheostat.reproduce.streamswitch_rivals import published_drs, published_drs_lb
from rheostat.reproduce.streamswitch_runs import DRS, DRS_LB, STATIC, SWITCH, Bench, Outcome, bench
from rheostat.reproduce.streamswitch_waves import Ridden, Wave, ride
from rheostat.simulate.job import Cluster, Costs, Job, Operator, Timing
from rheostat.workloads.arrivals import Constant
from rheostat.workloads.exchange import Exchange

CALM = Part(7000.0, ((7010.0, 7050.0, 0.75), (7050.0, 7060.0, 0.25)))
KINDS = ("scale in", "balance", "scale out")


def result(name: str, rate: float, slots: float, switching: float = 0.1, switch: float = 0.5) -> Outcome:
    success = np.full(64, rate)
    return Outcome(name, slots, success, dict.fromkeys(KINDS, 10), switch, switching)


def by_id(found: list[Claim]) -> dict[str, bool]:
    assert len({claim.id for claim in found}) == len(found)
    return {claim.id: claim.holds for claim in found}


# Workloads and engines.


def test_restless_stocks_change_who_orders_but_not_how_much() -> None:
    day = Exchange(2_000_000, seconds=480)
    market = Restless(day, seed=3)
    assert (market.counts.sum(axis=1) == day.per_second()).all()
    assert not np.array_equal(market.counts, Restless(day, seed=4).counts)
    # From one second to the next a shard's share of the orders changes far more than by chance alone.
    changes = [np.diff(c / c.sum(axis=1, keepdims=True), axis=0).std() for c in (market.counts, day.counts(64))]
    assert changes[0] > 3 * changes[1]


def test_bursts_vary_as_recorded_stocks_do() -> None:
    """The variances that the module names, by 1, 5 and 20 seconds."""
    rng = np.random.default_rng(5)
    slow, _ = _wander(rng, rng.standard_normal(400), 2000)
    multiplier = slow * rng.gamma(1 / 2.33, 2.33, slow.shape)
    found = [multiplier.reshape(-1, span, 400).mean(axis=1).var() for span in (1, 5, 20)]
    assert found == pytest.approx([5.0, 1.5, 0.6], rel=0.15)


def pair(kind: type[Samza], rate: float, slots: int = 2) -> Samza:
    job, load = Job((Operator("work", 8, 1 / 235, state_bytes=0.0),)), Constant(rate, [1] * 8, poisson=False)
    plan = Plan({"work": OperatorPlan.even(8, slots)}, 1)
    costs = Costs(queue=10**9, pair_sync=0.4)
    return kind(job, Cluster(1, 8), load, plan, 1, Timing(0.1, 0.1), costs, Pause.PAIR, room=8)


def test_useful_time_belongs_to_the_rows_that_were_done_in_it() -> None:
    """Also where a slot is stopped in the middle of a row: rows over useful time is always the speed."""
    engine = pair(Samza, rate=300.0)
    for interval in range(40):
        seen = engine.step()
        rows, useful = seen.done["work"].sum(), seen.observation.operators["work"].useful.sum()
        assert rows == pytest.approx(235 * useful)
        if interval % 10 == 5:
            old = engine.plan.operators["work"]
            engine.apply(Plan({"work": OperatorPlan(np.roll(old.routing, 1), old.nodes)}, 1))
    assert len(engine.switches) == 4


def test_a_barrier_waits_for_all_rows_before_it() -> None:
    """Two slots of 235 rows/s with 800 rows/s to do: after 2 s each has 330 rows, or 1.4 s, before a barrier."""
    engines = pair(Samza, 800.0), pair(Flink, 800.0)
    rows = []
    for engine in engines:
        for _ in range(20):
            engine.step()
        old = engine.plan.operators["work"]
        engine.apply(Plan({"work": OperatorPlan(np.where(np.arange(8) == 0, 1, old.routing), old.nodes)}, 1))
        began = engine.time
        while engine.busy("work"):
            engine.step()
        # Engines see what has ended at the end of an interval, which may be twice.
        assert 0 <= engine.time - began - engine.switches[0] + 1e-6 < 0.2
        observed = engine.step().observation.operators["work"]
        rows.append(observed.arrived.sum() / engine.time)
    assert engines[0].switches[0] == pytest.approx(0.4, abs=0.01)
    assert engines[1].switches[0] == pytest.approx(0.4 + 330 / 235, abs=0.1)
    assert rows == pytest.approx([800, 800], rel=0.01)


# Rivals.


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(1, 2000), min_size=4, max_size=12),
    st.integers(1, 4),
    st.floats(0.0, 5.0),
    st.sampled_from([2, 8, 64]),
)
def test_published_drs_differs_only_where_no_number_of_slots_is_enough(
    arrivals: list[float], slots: int, latency: float, most: int
) -> None:
    routing = [i % slots for i in range(len(arrivals))]
    seen = Readings.of(routing, arrivals, [1000.0] * slots, [latency] * slots)
    limits = Limits(max_slots=most)
    found, ours = published_drs(seen, limits), drs(seen, limits)
    if fewest_slots(sum(arrivals), 1000.0, limits).feasible:
        assert (found.action, found.moves) == (ours.action, ours.moves)
    else:
        assert found.action == Action.NOTHING
        assert published_drs_lb(seen, limits).action in (Action.NOTHING, Action.BALANCE)


# Runs.


@pytest.mark.parametrize("kind", [SWITCH, DRS, DRS_LB, STATIC])
def test_a_minute_of_the_day(kind: str) -> None:
    day = Day(kind, part=CALM)
    trace, rates = simulated(day)
    found = weighed(day, trace, rates)
    assert trace.time[0] > CALM.begin
    assert trace.time[-1] == pytest.approx(CALM.end)
    assert found.success == pytest.approx(0.75 * rates[0] + 0.25 * rates[1])
    assert 0 <= found.rate <= 1
    parts = [trace.slots[NAME][(trace.time > a + 0.01) & (trace.time < b + 0.01)].mean() for a, b, _ in CALM.strata]
    assert found.slots == pytest.approx(0.75 * parts[0] + 0.25 * parts[1])
    assert found.events == sum(d.time > 7010.0 for d in trace.decisions)


def test_state_grows_over_the_day() -> None:
    sizes = [state(Day(SWITCH), time).sum() for time in (0.0, 7200.0, 14_400.0)]
    assert sizes == sorted(sizes)
    assert [sizes[0], sizes[-1]] == pytest.approx([37e6, 200e6], rel=0.03)  # after the first second, and in the end


@pytest.fixture(scope="module")
def seen() -> Watched:
    return watched(Day(SWITCH, part=Part(7000.0, ((7005.0, 7200.0, 0.9), (7200.0, 7215.0, 0.1)))))


def test_a_run_is_watched_line_by_line(seen: Watched) -> None:
    assert len(seen.time) == len(seen.slots) == len(seen.mean) == len(seen.p99) == 43
    assert np.diff(seen.time) == pytest.approx(5.0)
    assert (seen.p99 > 0.9 * seen.mean).all()
    assert len(seen.balanced) > 0


def test_clips_show_the_seconds_around_a_treatment(seen: Watched) -> None:
    assert {clip.action for clip in seen.clips} == set(KINDS)
    for clip in seen.clips:
        assert clip.time[0] < 0 < clip.time[-1]
        assert clip.arrivals.shape == (len(clip.time), 2)
        assert clip.moved >= 3
    scaled = {clip.action: clip for clip in seen.clips}
    # A slot that is given up takes nothing after the decision, and a new one nothing before.
    gone, begun = scaled["scale in"], scaled["scale out"]
    assert (gone.arrivals[gone.time > 0, 0] == 0).all()
    assert (begun.arrivals[begun.time <= 0, 1] == 0).all()
    assert begun.arrivals[begun.time > 0, 1].mean() > 0
    assert all(0.4 < clip.highest < 30.0 for clip in seen.clips)


def test_decisions_are_drawn_and_judged(seen: Watched, tmp_path: Path) -> None:
    found = by_id(streamswitch_decisions.claims(Run(tmp_path, quick=True), seen, seen))
    assert found["fig4-rates"]
    assert found["fig4-skew"]
    assert not found["fig18-success"]  # not below itself
    assert {f"fig{n:02d}.svg" for n in (4, 6, 7, 8, 9, 18)} <= {path.name for path in tmp_path.iterdir()}


def test_slots_of_another_type_are_as_fast_as_they_are_said_to_be() -> None:
    wave = Wave("q2", 4_000.0, 10e3, 600.0, seconds=20.0, warm_up=5.0)
    usual = ride(wave)
    slow = ride(Wave("q2", 4_000.0, 10e3, 600.0, 20.0, 5.0, factor=0.5, share=1.0))
    assert (usual.mixed, slow.mixed) == (0.0, 1.0)
    assert slow.outcome.slots > 1.5 * usual.outcome.slots


def test_slots_that_are_begun_anew_draw_their_type() -> None:
    found = ride(Wave("q5", 10_000.0, 30e3, 40.0, seconds=80.0, warm_up=0.0, factor=1.25, share=0.5))
    assert found.outcome.treatments["scale in"] > 3
    assert 0.05 < found.mixed < 0.95


def test_added_delays_are_part_of_a_treatment() -> None:
    found = ride(Wave("q5", 10_000.0, 30e3, 40.0, seconds=40.0, warm_up=0.0, delay=0.5))
    assert found.outcome.events > 0
    assert found.outcome.switch > 0.85


def test_words_go_from_split_to_count() -> None:
    found = counted(Words((1.0, 1.0), seconds=20.0, warm_up=5.0))
    assert set(found.success) == {SPLIT, COUNT}
    assert 10 < found.slots[SPLIT] < 20 < found.slots[COUNT] < 40
    assert 0.9 < found.path <= 1
    assert len(found.latencies[COUNT]) == 20


# Claims, from results that are made up.


def test_the_comparison_is_lost_to_a_rival_with_fewer_slots(tmp_path: Path) -> None:
    ours = [result("Switch(0.2)", 0.97, 8.4), result("Switch(0.4)", 0.98, 10.0)]
    worse = [result("Static(8)", 0.80, 8.0), result("DRS(0.4)", 0.94, 8.4), result("DRS-LB(0.4)", 0.95, 8.5)]

    def judge(found: list[Outcome]) -> dict[str, bool]:
        return by_id(streamswitch_comparison.claims(Run(tmp_path), [Traded(o, [o.success] * 3) for o in found]))

    won = judge([*ours, *worse])
    assert won["fig5-baseline"]
    assert won["fig5-equal"]
    assert won["fig5-margin"]
    assert "fig5-above-static" not in won  # fewer slots than any of ours
    lost = judge([*ours, *worse, result("DRS(0.3)", 0.99, 8.3)])
    assert not lost["fig5-equal"]
    lost = judge([*ours, *worse, result("DRS-LB(0.5)", 0.99, 9.0)])
    assert lost["fig5-equal"]
    assert not lost["fig5-above-drs-lb"]
    assert (tmp_path / "fig05.svg").exists()


def test_other_bounds_are_judged_beside_the_first(tmp_path: Path) -> None:
    runs = [result("Switch(0.2)", 0.97, 8.4), result("Static(8)", 0.8, 8.0)]
    seen = {(1.0, 5.0): runs, (5.0, 1.0): [*runs, result("DRS(0.4)", 0.98, 8.0)]}
    found = by_id(streamswitch_bounds.claims(Run(tmp_path), seen, {"Switch(0.2)": 0.96}))
    assert found == {"fig17-gains": True, "fig17-1-5": True, "fig17-5-1": False}
    found = by_id(streamswitch_bounds.claims(Run(tmp_path), seen, {"Switch(0.2)": 0.98}))
    assert not found["fig17-gains"]


def test_parameters_are_judged_by_their_spread(tmp_path: Path) -> None:
    def judge(worst: float) -> dict[str, bool]:
        usual, other = (
            [Ridden(result("Switch(0.2)", 1.0, 10.0), 0.0)],
            [Ridden(result("Switch(0.2)", worst, 11.0), 0.0)],
        )
        series = {0.02: other, 0.1: usual, 0.5: other}
        found = {streamswitch_parameters.ALERT: series, streamswitch_parameters.INTERVAL: series}
        rivals = [Ridden(result("DRS(0.2)", 0.99, 10.5), 0.0)]
        return by_id(streamswitch_parameters.claims(Run(tmp_path), found, rivals))

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
        return by_id(streamswitch_resources.claims(Run(tmp_path), found, (0.5, 1.5), (0.2, 0.4)))

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
    found = by_id(streamswitch_limits.dynamics(Run(tmp_path), waves, slower, ""))
    assert found == {
        "fig14-success": True,
        "fig14-decreasing": True,
        "fig14-slots": True,
        "fig14-events": False,  # there are always 30
        "fig14-seconds": True,
        "fig14-correlation": True,
    }
    delayed = {"+0 s": ridden(0.99, 0.1, 0.5), "+1 s": ridden(0.9, 0.2, 6.0), "+2 s": ridden(0.8, 0.3, 13.0)}
    found = by_id(streamswitch_limits.delayed(Run(tmp_path), delayed))
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
    judged = by_id(streamswitch_path.claims(Run(tmp_path), found, ours))
    assert judged == {
        "fig16-path": False,
        "fig16-looser": True,
        "fig16-tight": True,
        "fig16-best": True,
        "fig16-found": True,
    }


# All of it.


def test_runs_side_by_side_give_what_they_give_one_after_the_other(tmp_path: Path) -> None:
    assert Bench(Run(tmp_path)).each("powers", pow_of_two, [1, 2, 3]) == [2, 4, 8]


@pytest.mark.slow
def test_other_processes_give_the_same(tmp_path: Path) -> None:
    day = Day(SWITCH, part=CALM)
    with bench(Run(tmp_path)) as at:
        (there,) = at.each("elsewhere", traded, [day])
    here = traded(day)
    assert there.outcome.success == pytest.approx(here.outcome.success)
    assert there.outcome.treatments == here.outcome.treatments


@pytest.mark.slow
def test_the_quick_run_draws_every_figure(tmp_path: Path) -> None:
    found = by_id(streamswitch.reproduce(Run(tmp_path, quick=True)))
    assert {f"fig{number:02d}.svg" for number in range(4, 19)} <= {path.name for path in tmp_path.iterdir()}
    assert found["fig5-baseline"]
    assert found["fig12-success"]
    assert found["fig16-path"]


def pow_of_two(exponent: int) -> int:
    return 1 << exponent
