"""The runs behind StreamSwitch's figures, small, and what is made of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from papers.paper_run import Run
from papers.side_by_side import Bench, bench
from papers.streamswitch import (
    figure_04_orders,
    figure_06_decisions,
    figure_07_09_treatments,
    figure_18_flink,
    streamswitch_evaluation,
)
from papers.streamswitch.testbed.bursts import BurstyDay, _wander
from papers.streamswitch.testbed.clips import WatchedDay, watch_day
from papers.streamswitch.testbed.engines import Flink, Samza
from papers.streamswitch.testbed.named_policies import OURS, PUBLISHED, RESTED, STATIC, SWITCH, SWITCH_PLUS, policy
from papers.streamswitch.testbed.trading_day import NAME, Day, Part, run_day, simulate, state, weighted_outcome
from papers.streamswitch.testbed.waves import Wave, run_wave
from papers.streamswitch.testbed.word_count import COUNT, SPLIT, Words, run_word_count, sentences
from rheostat.elastic.model.plan import OperatorPlan, Plan
from rheostat.elastic.model.policy import Pause
from rheostat.elastic.policies import StreamSwitch
from rheostat.simulate.job import Cluster, Costs, Job, Operator, Timing
from rheostat.workloads.arrivals import Constant
from rheostat.workloads.exchange import Exchange
from tests.papers.told import assert_well_told

CALM = Part(7000.0, ((7010.0, 7050.0, 0.75), (7050.0, 7060.0, 0.25)))
KINDS = ("scale in", "balance", "scale out")


# Workloads and engines.


def test_restless_stocks_change_who_orders_but_not_how_much() -> None:
    day = Exchange(2_000_000, seconds=480)
    market = BurstyDay(day, seed=3)
    assert (market.counts.sum(axis=1) == day.per_second()).all()
    assert not np.array_equal(market.counts, BurstyDay(day, seed=4).counts)
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


# Policies by their names.


def test_only_the_published_policies_have_neither_our_rules_nor_our_rest() -> None:
    made = {kind: policy(kind, 0.3) for kind in (*PUBLISHED, *RESTED, *OURS)}
    assert all(isinstance(each, StreamSwitch) for each in made.values())
    rests = {kind: each.waits.rest for kind, each in made.items()}
    assert rests == {**dict.fromkeys(PUBLISHED, 0.0), **dict.fromkeys((*RESTED, *OURS), 1.0)}
    ranked = {kind: each.rules.overload for kind, each in made.items() if isinstance(each, StreamSwitch)}
    assert ranked == {kind: kind not in PUBLISHED for kind in made}
    plans = [kind for kind, each in made.items() if isinstance(each, StreamSwitch) and each.rules.plan]
    assert plans == list(OURS)


# Runs.


def test_rows_of_the_waves_and_sentences_arrive_at_random() -> None:
    """Of rows that come at equal distances, the number in a span hardly varies; here it does as Poisson's."""
    wave, words = Wave("q2", 4_000.0, 0.0, 600.0, 20.0, 5.0).load(), sentences(Words((1, 1), 20, 5))
    for load, end in ((wave, 20.0), (words, 2.0)):  # the rate of sentences changes, hence the short span
        counts = np.histogram(load.between(0.0, end).times, bins=200)[0]
        assert counts.var() == pytest.approx(counts.mean(), rel=0.35)


@pytest.mark.parametrize("kind", [*PUBLISHED, *RESTED, *OURS, STATIC])
def test_a_minute_of_the_day(kind: str) -> None:
    day = Day(kind, part=CALM)
    trace, rates = simulate(day)
    found = weighted_outcome(day, trace, rates)
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
def seen() -> WatchedDay:
    return watch_day(Day(SWITCH_PLUS, part=Part(7000.0, ((7005.0, 7200.0, 0.9), (7200.0, 7215.0, 0.1)))))


def test_a_run_is_watched_line_by_line(seen: WatchedDay) -> None:
    assert len(seen.time) == len(seen.slots) == len(seen.mean) == len(seen.p99) == 43
    assert np.diff(seen.time) == pytest.approx(5.0)
    assert (seen.p99 > 0.9 * seen.mean).all()
    assert len(seen.balanced) > 0


def test_clips_show_the_seconds_around_a_treatment(seen: WatchedDay) -> None:
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


def test_decisions_are_drawn_and_judged(seen: WatchedDay, tmp_path: Path) -> None:
    run = Run(tmp_path, quick=True)
    both = seen, seen
    parts = [
        figure_04_orders.reproduce(run),
        figure_06_decisions.claims(run, *both),
        figure_07_09_treatments.claims(run, *both),
        figure_18_flink.claims(run, both, both),
    ]
    found = {c.id: c.holds for part in parts for c in part}
    assert found["fig4-rates"]
    assert found["fig4-skew"]
    assert not found["fig18-success"]  # not below itself
    names = [f"fig{n:02d}" for n in (4, 6, 7, 8, 9, 18)] + ["fig06_ours", "fig18_ours"]
    assert {f"{name}.svg" for name in names} <= {path.name for path in tmp_path.iterdir()}


def test_slots_of_another_type_are_as_fast_as_they_are_said_to_be() -> None:
    wave = Wave("q2", 4_000.0, 10e3, 600.0, seconds=20.0, warm_up=5.0)
    usual = run_wave(wave)
    slow = run_wave(Wave("q2", 4_000.0, 10e3, 600.0, 20.0, 5.0, factor=0.5, share=1.0))
    assert (usual.mixed, slow.mixed) == (0.0, 1.0)
    assert slow.outcome.slots > 1.5 * usual.outcome.slots


def test_slots_that_are_begun_anew_draw_their_type() -> None:
    found = run_wave(Wave("q5", 10_000.0, 30e3, 40.0, seconds=80.0, warm_up=0.0, factor=1.25, share=0.5))
    assert found.outcome.treatments["scale in"] > 3
    assert 0.05 < found.mixed < 0.95


def test_added_delays_are_part_of_a_treatment() -> None:
    found = run_wave(Wave("q5", 10_000.0, 30e3, 40.0, seconds=40.0, warm_up=0.0, delay=0.5))
    assert found.outcome.events > 0
    assert found.outcome.switch > 0.85


def test_words_go_from_split_to_count() -> None:
    found = run_word_count(Words((1.0, 1.0), seconds=20.0, warm_up=5.0))
    assert set(found.success) == {SPLIT, COUNT}
    assert 10 < found.slots[SPLIT] < 20 < found.slots[COUNT] < 40
    assert 0.9 < found.path <= 1
    assert len(found.latencies[COUNT]) == 20


# All of it.


def test_runs_side_by_side_give_what_they_give_one_after_the_other(tmp_path: Path) -> None:
    assert Bench(Run(tmp_path)).each("powers", pow_of_two, [1, 2, 3]) == [2, 4, 8]


@pytest.mark.slow
def test_other_processes_give_the_same(tmp_path: Path) -> None:
    day = Day(SWITCH, part=CALM)
    with bench(Run(tmp_path)) as at:
        (there,) = at.each("elsewhere", run_day, [day])
    here = run_day(day)
    assert there.outcome.success == pytest.approx(here.outcome.success)
    assert there.outcome.treatments == here.outcome.treatments


@pytest.mark.slow
def test_the_quick_run_draws_every_figure(tmp_path: Path) -> None:
    claims = streamswitch_evaluation.reproduce(Run(tmp_path, quick=True))
    assert_well_told(claims)
    found = {claim.id: claim.verdict for claim in claims}
    assert {f"fig{number:02d}.svg" for number in range(4, 19)} <= {path.name for path in tmp_path.iterdir()}
    assert [found[name] for name in ("fig5-baseline", "fig12-success", "fig16-path")] == ["yes"] * 3
    cannot = ("fig12-half", "fig14-seconds", "fig15-amplified", "fig16-tight")
    assert [found[name] for name in cannot] == ["not decided here"] * 4


def pow_of_two(exponent: int) -> int:
    return 1 << exponent
