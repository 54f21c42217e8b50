"""From observations to profiles: what an epoch tells, what is learned from it, and what a file keeps."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheostat.elastic.elysium.configuration import Thresholds
from rheostat.elastic.elysium.forecasts.series import Series
from rheostat.elastic.elysium.live.epoch_use import OperatorUse, epoch_load, operator_use, waiting_rows
from rheostat.elastic.elysium.live.query_profile import HALF_LIFE, KEPT_LOADS, QueryProfile, read_profile
from rheostat.elastic.elysium.live.use_profile import UseProfile
from rheostat.elastic.model.observation import Observation, OperatorObservation
from rheostat.elastic.model.plan import OperatorPlan
from rheostat.errors import ConfigurationError
from tests.elastic.elysium.live.epochs import EpochWorld

costs = st.floats(1e-6, 0.1)
rates = st.lists(st.floats(10.0, 10_000.0), min_size=2, max_size=12, unique=True)


@given(row=costs, task=st.floats(0.0, 0.5), selectivity=st.floats(0.01, 20.0), swept=rates, slots=st.integers(1, 8))
def test_what_an_operator_costs_is_learned_from_its_epochs(
    row: float, task: float, selectivity: float, swept: list[float], slots: int
) -> None:
    world = EpochWorld({"sum": (row, selectivity, 0)}, slots=slots, task=task)
    profile = QueryProfile()
    for rate in swept:
        profile = profile.after(world.step(rate))
    found = profile.operators["sum"]
    assert found.selectivity == pytest.approx(selectivity, rel=1e-6)
    assert found.computing_share == pytest.approx(0.5)
    assert found.memory == pytest.approx(1e8)
    spread = np.std(swept) / np.mean(swept)
    if spread > 0.1:
        # The line gives back the core seconds of any epoch within what was swept.
        for rate in swept:
            rows = rate * selectivity / slots
            assert float(found.line(np.array([rows]))[0]) == pytest.approx(rows * row + task, rel=0.02, abs=1e-6)
    assert found.line.base >= 0
    assert found.line.slope >= 0


@given(
    given_rows=st.lists(st.floats(0, 1e6), min_size=1, max_size=20), seconds=st.lists(st.floats(0, 1e3), min_size=20)
)
def test_whatever_was_measured_neither_part_of_a_cost_is_negative(
    given_rows: list[float], seconds: list[float]
) -> None:
    use = OperatorUse(np.array(given_rows), np.array(seconds[: len(given_rows)]))
    line = UseProfile().after(use, 1.0).after(use, 1.0).line
    assert line.base >= 0
    assert line.slope >= 0
    assert np.isfinite([line.base, line.slope]).all()


def test_an_epoch_counts_half_as_much_after_a_half_life() -> None:
    dear, cheap = EpochWorld({"sum": (0.01, 1.0, 0)}), EpochWorld({"sum": (0.001, 1.0, 0)})
    profile = QueryProfile().after(dear.step(100.0))
    before = profile.operators["sum"].line.slope
    later = replace(cheap.step(100.0), seconds=HALF_LIFE, external=100.0 / HALF_LIFE)
    profile = profile.after(later)
    # The old epoch counts one half, the new one whole: two thirds of the way.
    assert profile.operators["sum"].line.slope == pytest.approx((0.5 * before + 0.001) / 1.5, rel=1e-3)


@pytest.mark.parametrize("field", ["rows", "work", "completed"])
@pytest.mark.parametrize("value", [np.nan, -1.0, np.inf, 1e300])
def test_what_makes_no_sense_is_not_learned(field: str, value: float) -> None:
    seen = EpochWorld({"sum": (0.01, 1.0, 0)}).step(100.0)
    wrong = getattr(seen.operators["sum"], field).copy()
    wrong[3] = value
    spoilt = replace(seen.operators["sum"], **{field: wrong})
    if field == "work":  # the useful seconds of slots are still there
        assert operator_use(replace(spoilt, useful=np.zeros(0))) is None
        assert operator_use(spoilt) is not None
    elif field == "rows":
        assert operator_use(spoilt) is None
    else:
        assert operator_use(spoilt) is not None  # rows of the epoch are known
        assert operator_use(replace(spoilt, rows=np.zeros(0)), np.zeros(16)) is None


def observed(**values: Any) -> Observation:
    return Observation(**{"time": 1.0, "seconds": 2.0, "operators": {}, "cores": np.array([1]), **values})


def test_the_load_is_what_arrived_and_not_what_was_processed() -> None:
    # An epoch of four seconds that read what had arrived in one.
    assert epoch_load(observed(seconds=4.0, external=50.0, span=1.0)) == (200.0, 1.0)
    # What the next epoch will read is fresher.
    assert epoch_load(observed(external=50.0, span=1.0, next_rows=900.0, next_span=3.0)) == (900.0, 3.0)
    # A source that holds back more than before has received more than it gave; less, and rows are old.
    assert epoch_load(observed(next_rows=100.0, next_span=1.0, behind=500.0), behind=300.0) == (300.0, 1.0)
    assert epoch_load(observed(next_rows=300.0, next_span=1.0, behind=0.0), behind=200.0) == (100.0, 1.0)
    assert np.isnan(epoch_load(observed())[0])


def test_rows_that_wait_are_those_of_the_next_epoch_and_those_held_back() -> None:
    assert waiting_rows(observed(next_rows=10.0, behind=5.0)) == 15.0
    assert waiting_rows(observed()) == 0.0
    counted = OperatorObservation(
        plan=OperatorPlan.even(2, 1), arrived=np.array([5.0, 5.0]), completed=np.array([1.0, 2.0]), useful=np.zeros(1)
    )
    assert waiting_rows(observed(operators={"a": counted})) == 7.0


def learned() -> QueryProfile:
    world = EpochWorld({"sum": (0.01, 0.5, 0), "top": (0.02, 0.1, 1)}, task=0.1)
    profile = QueryProfile(loads=Series(np.arange(5.0), 0.0, 10.0), thresholds=Thresholds(cpu_max=0.9))
    for rate in (100.0, 300.0, 500.0):
        profile = profile.after(world.step(rate))
    return profile


def test_a_file_gives_back_what_was_learned() -> None:
    before = learned()
    text = before.to_json("words", {"sum": "a", "top": "b"}, saved=1000.0)
    found = read_profile(text, {"sum": "a", "top": "b"}, now=1000.0, where="profile.json")
    assert found.messages == ()
    assert found.profile.operators == before.operators
    assert found.profile.overhead == before.overhead
    assert found.profile.loads.values.tolist() == before.loads.values.tolist()
    assert found.profile.thresholds is not None
    assert found.profile.thresholds.cpu_max == 0.9
    assert len(text) < 4000


def test_an_old_file_counts_less_and_its_loads_go_on() -> None:
    text = learned().to_json("words", {"sum": "a", "top": "b"}, saved=0.0)
    old = read_profile(text, {"sum": "a", "top": "b"}, now=30.0, where="f").profile
    assert old.loads.values.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 4.0, 4.0, 4.0]  # three periods of which nobody knows
    older = read_profile(text, {"sum": "a", "top": "b"}, now=2 * HALF_LIFE, where="f").profile
    assert older.operators["sum"].weight == pytest.approx(learned().operators["sum"].weight / 4)
    ancient = read_profile(text, {"sum": "a", "top": "b"}, now=10.0 * KEPT_LOADS, where="f").profile
    assert len(ancient.loads) == 0


def test_a_changed_operator_begins_anew_and_the_user_is_told() -> None:
    text = learned().to_json("words", {"sum": "a", "top": "b"}, saved=0.0)
    found = read_profile(text, {"sum": "a", "top": "other"}, now=0.0, where="ckpt/profile.json")
    assert set(found.profile.operators) == {"sum"}
    assert found.messages == (
        "ckpt/profile.json: operator 'top' is declared differently now: what was learned of it is discarded",
    )
    gone = read_profile(text, {"top": "b"}, now=0.0, where="f")
    assert "there is no operator 'sum' any more" in gone.messages[0]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("{}", "f is not a profile: make one with `rheostat profile`"),
        ("[", "f is not a profile"),
        ('{"rheostat profile": 99}', "f has format 99"),
        ('{"rheostat profile": 1, "saved": 0}', "f is damaged"),
        (
            json.dumps({"rheostat profile": 1, "saved": 0, "operators": {"sum": {"declaration": "a", "rows": -1}},
                        "epoch": {}, "loads": {"step": 10, "values": []}}),
            "negative",
        ),
    ],
)  # fmt: skip
def test_a_file_that_is_no_profile_is_refused(text: str, error: str) -> None:
    with pytest.raises(ConfigurationError, match=error):
        read_profile(text, {"sum": "a"}, now=0.0, where="f")
