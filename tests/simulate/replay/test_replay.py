"""Replays of recorded runs: they repeat what ran, and tell what would have run, as the world itself does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.elastic.model.epoch_law import EpochLaw
from rheostat.elastic.model.observation import Observation
from rheostat.elastic.model.plan import OperatorPlan, Plan
from rheostat.elastic.model.promise import Latency
from rheostat.elastic.policies import Balance, Static, policy_for_spark
from rheostat.elastic.record.decision_replay import first_difference, replay_decisions
from rheostat.elastic.record.recording import Recording
from rheostat.errors import ConfigurationError
from rheostat.simulate.replay.recorded_epochs import RecordedEpochs
from rheostat.simulate.replay.recorded_load import RecordedLoad
from rheostat.simulate.replay.replay_error import ReplayError
from rheostat.simulate.replay.run_figures import RunFigures
from rheostat.simulate.replay.what_if import (
    hindsight_slots,
    most_slots,
    replay_plans,
    replay_policy,
    replay_slots,
)
from tests.simulate.replay.worlds import SHARDS, World, even

PROMISE = Latency("2 seconds", over="1 second")
SWITCH = policy_for_spark("streamswitch", PROMISE, (1, 16))


@pytest.fixture(scope="module")
def switched() -> Recording:
    """A run whose policy scales with the surge."""
    return World(SWITCH).recording()


# What ran


def test_the_recorded_policy_decides_the_same_again(switched: Recording) -> None:
    assert {t.plan.slots()["level 0"] for t in switched.turns} >= {4, 5}, "nothing to compare: nothing was decided"
    assert first_difference(switched.turns, replay_decisions(switched, SWITCH)) is None


def test_a_replay_of_what_ran_is_what_ran(switched: Recording) -> None:
    error = ReplayError.between(switched, replay_plans(switched), PROMISE)
    assert error.epoch_seconds < 0.03
    assert error.latency < 0.03
    assert abs(error.success) < 0.03
    assert abs(error.slot_seconds) < 0.03


def test_noise_of_epochs_is_the_error_of_the_replay() -> None:
    """Epochs that vary by 10 % cannot be foreseen better than that; the replay must not drift away from them."""
    noisy = World(SWITCH, noise=0.1).recording()
    error = ReplayError.between(noisy, replay_plans(noisy), PROMISE)
    assert 0.02 < error.epoch_seconds < 0.15
    assert abs(error.slot_seconds) < 0.05


def test_a_replay_of_the_recorded_policy_is_near_the_run(switched: Recording) -> None:
    ran, again = (RunFigures.of(r, PROMISE) for r in (switched, replay_policy(switched, SWITCH)))
    assert again.success == pytest.approx(ran.success, abs=0.05)
    assert again.slot_seconds == pytest.approx(ran.slot_seconds, rel=0.1)


# What would have run


@pytest.mark.parametrize("slots", [4, 6, 12])
def test_another_number_of_slots_does_what_it_does_in_the_world(switched: Recording, slots: int) -> None:
    truth = RunFigures.of(World(Static(), slots=slots).recording(), PROMISE)
    answer = RunFigures.of(replay_slots(switched, slots), PROMISE)
    assert answer.epoch_seconds == pytest.approx(truth.epoch_seconds, rel=0.1)
    assert answer.latency == pytest.approx(truth.latency, rel=0.15)
    assert answer.success == pytest.approx(truth.success, abs=0.05)
    assert answer.slot_seconds == pytest.approx(truth.slot_seconds, rel=0.05)


def test_another_policy_does_what_it_does_in_the_world(switched: Recording) -> None:
    other = policy_for_spark("drs-lb", PROMISE, (1, 16))
    answer = RunFigures.of(replay_policy(switched, other), PROMISE)
    truth = RunFigures.of(World(other).recording(), PROMISE)
    assert answer.decisions > 0
    assert answer.success == pytest.approx(truth.success, abs=0.05)
    assert answer.slot_seconds == pytest.approx(truth.slot_seconds, rel=0.15)


def test_hindsight_finds_the_fewest_slots_that_keep_the_promise() -> None:
    recording = World(SWITCH, shares=even).recording()
    worlds = {n: World(Static(), slots=n, shares=even).recording() for n in range(1, 9)}
    kept = [n for n, run in worlds.items() if RunFigures.of(run, PROMISE).success >= 0.95]
    assert 1 < min(kept) < 8
    assert hindsight_slots(recording) == min(kept)
    assert hindsight_slots(recording, Latency("10 ms")) is None


def test_hindsight_needs_a_promise(switched: Recording) -> None:
    without = Recording(replace(switched.header, bound=float("nan")), switched.turns)
    with pytest.raises(ConfigurationError, match="made no promise: pass one"):
        hindsight_slots(without)
    assert hindsight_slots(without, Latency("10 seconds")) is not None


def test_the_most_slots_are_the_limit_or_the_cores(switched: Recording) -> None:
    assert most_slots(switched) == 16
    assert most_slots(Recording(replace(switched.header, slots=(1, 5)), switched.turns)) == 5
    assert most_slots(Recording(replace(switched.header, slots=None), switched.turns)) == 16


# The load


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(1, 16), st.integers(0, 99)), min_size=1, max_size=6))
def test_every_row_is_processed_once_under_any_plans(changes: list[tuple[int, int]]) -> None:
    load = LOAD
    engine = RecordedEpochs(load, Plan({"level 0": OperatorPlan.even(SHARDS, 2)}, 1))
    rows, read, number = np.zeros(SHARDS), 0.0, 0
    while not engine.ended:
        seen = engine.step()
        rows += seen.operators["level 0"].rows
        read += seen.external * seen.seconds
        slots, seed = changes[number % len(changes)]
        routing = np.random.default_rng(seed).integers(0, slots, SHARDS)
        engine.apply(Plan({"level 0": OperatorPlan(routing, np.zeros(slots, dtype=np.int64))}, 1))
        number += 1
    assert rows.tolist() == np.sum([o.operators["level 0"].rows for o in load.seen], axis=0).tolist()
    assert read == pytest.approx(rows.sum())
    assert seen.operators["level 0"].completed.tolist() == rows.tolist()


LOAD = RecordedLoad.of(World(Balance(), seconds=20.0, rate=lambda _: 300.0).recording())


def test_an_epoch_that_begins_as_a_recorded_one_has_its_rows(switched: Recording) -> None:
    load = RecordedLoad.of(switched)
    for number, seen in enumerate(load.seen[1:], start=1):
        ends, begins = (load.rows_until(load.edges[n], "level 0") for n in (number + 1, number))
        assert (ends - begins).tolist() == seen.operators["level 0"].rows.tolist()


def test_single_rows_of_many_shards_are_spread_over_the_span() -> None:
    """Half a row per shard and epoch: in half of an epoch's span, half of its rows have arrived."""
    load = RecordedLoad.of(World(Static(), rate=lambda _: 32.0, shares=even, seconds=30.0).recording())
    before, after = load.edges[10:12]
    begin, middle, end = (load.rows_until(t, "level 0").sum() for t in (before, (before + after) / 2, after))
    assert 0 < end - begin < SHARDS
    assert middle - begin == pytest.approx((end - begin) / 2, abs=0.15 * SHARDS)


def test_without_rows_no_epoch_begins() -> None:
    quiet = World(Static(), rate=lambda t: 0.0 if 5 <= t < 15 else 100.0, seconds=25.0).recording()
    # The world runs epochs without rows, as a source that cannot tell does; the replay waits for a row.
    replayed = replay_plans(quiet)
    begins = [t.observation.time - t.observation.committed for t in replayed.turns]
    assert not [b for b in begins if 6.5 < b < 14.5]
    assert sum(t.observation.operators["level 0"].rows.sum() for t in replayed.turns) == sum(
        t.observation.operators["level 0"].rows.sum() for t in quiet.turns
    )


def test_the_trigger_is_kept() -> None:
    slow = World(Static(), law=EpochLaw(0.2, 0.01, trigger=3.0), rate=lambda _: 50.0, seconds=40.0).recording()
    begins = [t.observation.time - t.observation.committed for t in replay_slots(slow, 2).turns]
    assert np.diff(begins)[:-1] == pytest.approx(3.0)


def test_levels_run_one_after_the_other() -> None:
    two = World(Static(), slots=8, levels=2, cost=0.002).recording()
    assert ReplayError.between(two, replay_plans(two)).epoch_seconds < 0.03
    one = World(Static(), slots=8, cost=0.002).recording()
    assert RunFigures.of(replay_plans(two)).epoch_seconds > 1.2 * RunFigures.of(replay_plans(one)).epoch_seconds


def test_a_law_that_was_not_recorded_is_calibrated_from_the_epochs() -> None:
    bare = World(Static(), slots=6, known=False).recording()
    assert all(t.observation.law is None for t in bare.turns)
    error = ReplayError.between(bare, replay_plans(bare), PROMISE)
    assert error.epoch_seconds < 0.05


def test_an_operator_that_an_epoch_does_not_mention_had_no_rows(switched: Recording) -> None:
    silent = switched.turns[3]
    turns = list(switched.turns)
    other = replace(silent.observation.operators["level 0"], level=1)
    for number in (5, 6):  # a second operator that only two epochs mention
        seen = turns[number].observation
        operators = {**seen.operators, "rare": other}
        turns[number] = replace(turns[number], observation=replace(seen, operators=operators))
    load = RecordedLoad.of(Recording(switched.header, tuple(turns)))
    assert load.operators["rare"].arrived[-1].sum() == 2 * other.rows.sum()
    assert load.operators["rare"].arrived[5].sum() == 0
    assert len(load.operators["rare"].plans) == len(load.seen)
    replay_plans(Recording(switched.header, tuple(turns)), load)


def test_what_policies_see_ahead_is_what_comes() -> None:
    engine = RecordedEpochs(LOAD, Plan({"level 0": OperatorPlan.even(SHARDS, 2)}, 1), ahead=True)
    before = engine.step()
    while not engine.ended:
        seen = engine.step()
        assert before.operators["level 0"].coming.tolist() == seen.operators["level 0"].rows.tolist()
        assert before.next_rows == pytest.approx(seen.external * seen.seconds)
        assert before.next_span == pytest.approx(seen.span)
        before = seen


def test_an_epoch_that_was_seen_twice_counts_once(switched: Recording) -> None:
    doubled = Recording(switched.header, tuple(t for turn in switched.turns for t in (turn, turn)))
    assert len(RecordedLoad.of(doubled).seen) == len(switched.turns)


def test_a_recording_without_measured_epochs_is_refused(switched: Recording) -> None:
    blind = [replace(t, observation=replace(t.observation, busy=float("nan"))) for t in switched.turns]
    with pytest.raises(ConfigurationError, match="no epoch whose length and rows by shard were measured"):
        RecordedLoad.of(Recording(switched.header, tuple(blind)))


def test_a_plan_that_cannot_be_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="32 shards, but its plan routes 4"):
        RecordedEpochs(LOAD, Plan({"level 0": OperatorPlan.even(4, 2)}, 1))


# Figures


def test_figures_of_a_run_by_hand() -> None:
    recording = World(Static(), slots=3, seconds=10.0, rate=lambda _: 100.0).recording()
    figures = RunFigures.of(recording, PROMISE)
    seconds = sum(t.observation.seconds for t in recording.turns)
    assert figures.slot_seconds == pytest.approx(3 * seconds)
    assert figures.slots == pytest.approx(3)
    assert figures.success == 1.0
    assert RunFigures.of(recording, Latency("1 ms")).success == 0.0
    assert np.isnan(RunFigures.of(recording).success)


def test_a_warm_up_does_not_count() -> None:
    """Ten times as many rows arrive in the first 20 s."""
    recording = World(Static(), slots=3, seconds=60.0, rate=lambda t: 450.0 if t < 20 else 45.0).recording()
    whole, warm = RunFigures.of(recording, PROMISE), RunFigures.of(recording, PROMISE, warm_up=40.0)
    assert warm.success == 1.0 > whole.success
    assert warm.latency < whole.latency
    assert warm.slot_seconds == pytest.approx(whole.slot_seconds / 3, rel=0.1)
    later, all_in_all = hindsight_slots(recording, PROMISE, warm_up=40.0), hindsight_slots(recording, PROMISE)
    assert later is not None
    assert all_in_all is None or later < all_in_all


def test_what_the_law_missed_is_missed_again() -> None:
    """Epochs that took a second longer for a while, as on a machine that has other things to do."""
    calm = World(Static(), slots=4, seconds=60.0, rate=lambda _: 100.0).recording()
    turns = [
        replace(t, observation=replace(t.observation, busy=t.observation.busy + 0.2 * (20 < t.observation.time < 40)))
        for t in calm.turns
    ]
    load = RecordedLoad.of(Recording(calm.header, tuple(turns)))
    begins = load.edges[1:]
    assert load.misses[(begins > 25) & (begins < 35)] == pytest.approx(0.2, abs=0.05)
    assert load.misses[begins < 15] == pytest.approx(0.0, abs=0.05)
    lengths = {t.observation.time: t.observation.busy for t in replay_slots(calm, 4, load).turns}
    slow = np.mean([busy for time, busy in lengths.items() if 25 < time < 35])
    assert slow > 0.15 + np.mean([busy for time, busy in lengths.items() if 5 < time < 15])


def test_windows_count_by_seconds_and_only_with_rows() -> None:
    """One epoch of 9 s that fails, one of 1 s that does not; a shard without rows is not judged."""
    recording = World(Static(), slots=3, seconds=10.0, rate=lambda _: 100.0).recording()
    late, soon = recording.turns[:2]
    part = late.observation.operators["level 0"]

    def epoch(seconds: float, latency: float) -> Observation:
        rows = np.where(np.arange(SHARDS) < 4, 10.0, 0.0)
        one = replace(part, rows=rows, latency=np.full(SHARDS, latency))
        return replace(late.observation, seconds=seconds, operators={"level 0": one})

    turns = (replace(late, observation=epoch(9.0, 5.0)), replace(soon, observation=epoch(1.0, 0.5)))
    assert RunFigures.of(Recording(recording.header, turns), PROMISE).success == pytest.approx(0.1)
