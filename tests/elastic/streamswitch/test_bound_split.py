"""Splitting an end-to-end bound: against trying all splits, and step by step towards equal success."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.elastic.streamswitch.path_bounds import adjusted, split_bound
from rheostat.errors import ConfigurationError

# Whole numbers, so that sums are exact.
SAMPLES = st.lists(st.integers(0, 20).map(float), min_size=1, max_size=6)


@settings(max_examples=300, deadline=None)
@given(st.lists(SAMPLES, min_size=1, max_size=3), st.integers(1, 40).map(float))
def test_no_split_has_a_better_worst_operator(samples: list[list[float]], total: float) -> None:
    named = {str(i): s for i, s in enumerate(samples)}
    found = split_bound(total, named)
    assert sum(found.bounds.values()) == pytest.approx(total)
    assert all(bound > 0 for bound in found.bounds.values()) or not found.feasible or total > 0
    best = 0.0
    for bounds in product(*({*s, 0.0} for s in samples)):
        if sum(bounds) <= total:
            best = max(best, min(float(np.mean(np.array(s) <= b)) for s, b in zip(samples, bounds, strict=True)))
    assert found.worst == pytest.approx(best)
    for name, values in named.items():
        assert found.success[name] == float(np.mean(np.array(values) <= found.bounds[name]))
    assert found.feasible == (best > 0)


def test_slack_goes_to_all_in_proportion() -> None:
    found = split_bound(6.0, {"a": [1.0, 1.0], "b": [2.0, 2.0]})
    assert found.bounds == {"a": pytest.approx(2.0), "b": pytest.approx(4.0)}
    assert found.worst == 1.0


def test_an_impossible_bound_is_divided_all_the_same() -> None:
    found = split_bound(1.0, {"a": [3.0], "b": [1.0]})
    assert not found.feasible
    assert found.bounds == {"a": pytest.approx(0.75), "b": pytest.approx(0.25)}


def test_unknown_and_absurd_latencies() -> None:
    assert split_bound(2.0, {"a": [], "b": [np.nan, -1.0, np.inf]}).bounds == {"a": 1.0, "b": 1.0}
    found = split_bound(2.0, {"a": [0.5, np.nan, -3.0], "b": []})
    assert found.bounds == {"a": 1.0, "b": 1.0}
    idle = split_bound(2.0, {"a": [0.0], "b": [0.0]})
    assert idle.bounds == {"a": 1.0, "b": 1.0}
    # An operator that never waited keeps a little.
    assert split_bound(2.0, {"a": [0.0], "b": [1.0]}).bounds["a"] > 0


@pytest.mark.parametrize("total", [0.0, -1.0, np.nan, np.inf])
def test_a_bound_is_a_time(total: float) -> None:
    with pytest.raises(ConfigurationError):
        split_bound(total, {"a": [1.0]})
    with pytest.raises(ConfigurationError):
        adjusted({"a": total}, {"a": 0.5})


def test_step_by_step_success_becomes_equal() -> None:
    # Split takes longer than count, as in the paper's word count: 2 s end to end, best near 1.25 and 0.75.
    def success(bounds: dict[str, float]) -> dict[str, float]:
        typical = {"split": 0.5, "count": 0.3}
        return {name: float(1 - np.exp(-bound / typical[name])) for name, bound in bounds.items()}

    bounds = {"split": 0.5, "count": 1.5}
    worst = []
    for _ in range(300):
        worst.append(min(success(bounds).values()))
        bounds = adjusted(bounds, success(bounds))
        assert sum(bounds.values()) == pytest.approx(2.0)
    assert bounds == {"split": pytest.approx(1.25, abs=0.01), "count": pytest.approx(0.75, abs=0.01)}
    assert (np.diff(worst) >= -1e-12).all()


def test_equal_success_changes_nothing() -> None:
    assert adjusted({"a": 1.5, "b": 0.5}, {"a": 0.9, "b": 0.9}) == {"a": pytest.approx(1.5), "b": pytest.approx(0.5)}


@settings(deadline=None)
@given(
    st.dictionaries(st.sampled_from("abcd"), st.floats(1e-3, 1e3), min_size=1),
    st.dictionaries(st.sampled_from("abcde"), st.floats(0, 1) | st.sampled_from([np.nan, np.inf, -1.0, 2.0])),
    st.floats(0.01, 100),
)
def test_the_sum_stays_and_nobody_is_left_without(
    bounds: dict[str, float], success: dict[str, float], gain: float
) -> None:
    found = adjusted(bounds, success, gain)
    assert list(found) == list(bounds)
    assert sum(found.values()) == pytest.approx(sum(bounds.values()))
    assert all(bound > 0 for bound in found.values())
    assert found == adjusted(bounds, success, gain)
