"""Selectivities: worked out by hand, and independent of the order and size of rates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheostat.elastic.elysium.profiles.samples import INPUT, Traffic
from rheostat.elastic.elysium.profiles.selectivity import selectivities


def test_a_stream_is_relative_to_all_that_its_operator_receives() -> None:
    # c receives 20 + 30 from a and b; it sends 5 to d.
    found = selectivities(
        Traffic.of(
            (0.0, INPUT, "a", 10.0),
            (0.0, INPUT, "b", 30.0),
            (0.0, "a", "c", 20.0),
            (0.0, "b", "c", 30.0),
            (0.0, "c", "d", 5.0),
        )
    )
    assert {stream: s.mean for stream, s in found.items()} == {
        (INPUT, "a"): 0.25,
        (INPUT, "b"): 0.75,
        ("a", "c"): 2.0,
        ("b", "c"): 1.0,
        ("c", "d"): 0.1,
    }


def test_the_mean_is_over_times_not_over_rows() -> None:
    # 100 rows become 100, then 1 row becomes 3: (1 + 3) / 2, not 103 / 101.
    found = selectivities(
        Traffic.of((0.0, INPUT, "a", 100.0), (0.0, "a", "b", 100.0), (10.0, INPUT, "a", 1.0), (10.0, "a", "b", 3.0))
    )
    assert (found["a", "b"].mean, found["a", "b"].deviation, found["a", "b"].readings) == (2.0, 1.0, 2)


def test_times_without_input_are_ignored() -> None:
    found = selectivities(
        Traffic.of((0.0, INPUT, "a", 0.0), (0.0, "a", "b", 7.0), (10.0, INPUT, "a", 2.0), (10.0, "a", "b", 1.0))
    )
    assert found["a", "b"].mean == 0.5
    assert selectivities(Traffic.of((0.0, INPUT, "a", 0.0), (0.0, "a", "b", 7.0))) == {}
    assert selectivities(Traffic.of()) == {}


def test_rates_that_are_not_finite_are_ignored() -> None:
    found = selectivities(
        Traffic.of(
            (0.0, INPUT, "a", 2.0),
            (0.0, "a", "b", 4.0),
            (10.0, INPUT, "a", 2.0),
            (10.0, "a", "b", float("nan")),
            (20.0, INPUT, "a", None),
            (20.0, "a", "b", 9.0),
            (30.0, INPUT, "a", float("inf")),
        )
    )
    assert (found["a", "b"].mean, found["a", "b"].readings) == (2.0, 1)


@given(st.lists(st.floats(1, 1e6), min_size=1, max_size=20), st.floats(0.01, 100))
def test_a_constant_selectivity_is_found_whatever_the_load(loads: list[float], selectivity: float) -> None:
    records = [r for t, x in enumerate(loads) for r in ((t, INPUT, "a", x), (t, "a", "b", selectivity * x))]
    shuffled = [records[i] for i in np.random.default_rng(1).permutation(len(records))]
    found = selectivities(Traffic.of(*shuffled))["a", "b"]
    assert found.mean == pytest.approx(selectivity)
    assert found.deviation == pytest.approx(0, abs=1e-9 * selectivity)
