"""The estimator and its dataflow, against values worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from rheostat.arrays import Floats
from rheostat.elastic.elysium.allocator import NodeSlots, RoundRobinAllocator
from rheostat.elastic.elysium.configuration import NodeType
from rheostat.elastic.elysium.dataflow import Dataflow, ScalableOperator
from rheostat.elastic.elysium.estimator import Estimator, Profiles
from rheostat.elastic.elysium.forecasts.series import Origins, Series
from rheostat.elastic.elysium.profiles.profile import Line
from rheostat.elastic.elysium.profiles.samples import INPUT
from rheostat.errors import ConfigurationError
from tests.elastic.elysium.builders import chain, estimator, profiles


def figure_4() -> Estimator:
    """A sends every row to B, and B sends two rows to C for each (the paper's Fig. 4)."""
    flow = chain("t", ("A", "B", "C"))
    return estimator(
        profiles(flow, {"A": 0.001, "B": 0.004, "C": 0.01}, {("A", "B"): 1.0, ("B", "C"): 2.0}),
        overhead=Line(0.1, 1.5),
    )


def test_input_rates_follow_selectivities() -> None:
    assert figure_4().input_rates("t", 100.0) == {"A": 100.0, "B": 100.0, "C": 200.0}


def test_rates_of_a_diamond_add_up_and_sources_share_the_load() -> None:
    flow = Dataflow(
        "d",
        tuple(ScalableOperator(n) for n in ("s", "r", "left", "right", "end")),
        (("s", "left"), ("s", "right"), ("r", "right"), ("left", "end"), ("right", "end")),
    )
    known = {("s", "left"): 0.5, ("s", "right"): 2.0, ("r", "right"): 1.0, ("left", "end"): 1.0, ("right", "end"): 0.1}
    # 40 each: left 20, right 80 + 40, end 20 + 12.
    assert flow.rates(80.0, known) == {"s": 40.0, "r": 40.0, "left": 20.0, "right": 120.0, "end": 32.0}
    shares = {**known, (INPUT, "s"): 0.25, (INPUT, "r"): 0.75}
    assert flow.rates(80.0, shares)["right"] == 20.0 * 2 + 60.0


def test_a_slot_gets_an_equal_part_and_its_cpu_follows_from_it() -> None:
    # B: 100 / 2 rows, 0.004 each: 0.2 of a core. C: 200 / 4, 0.01 each: 0.5.
    found = figure_4().slot_cpus({"t": {"A": 1, "B": 2, "C": 4}}, {"t": 100.0})
    assert found == {"t": {"A": pytest.approx(0.1), "B": pytest.approx(0.2), "C": pytest.approx(0.5)}}
    np.testing.assert_allclose(figure_4().slot_cpu("t", "B", np.array([50.0, 250.0])), [0.2, 1.0])


def test_a_node_uses_what_its_slots_use_and_the_overhead() -> None:
    parallelism = {"t": {"A": 1, "B": 2, "C": 4}}
    found = figure_4()
    cpus = found.slot_cpus(parallelism, {"t": 100.0})
    allocation = RoundRobinAllocator().allocate(parallelism, 2, {})
    # Round robin: A on 0; B on 1 and 0; C on 1, 0, 1, 0.
    assert allocation.counts["t"].tolist() == [[1, 0], [1, 1], [2, 2]]
    # Node 0: 0.1 + 0.2 + 2 x 0.5 = 1.3; node 1: 0.2 + 1.0 = 1.2; each 0.1 + 1.5 times that, of 4 cores.
    np.testing.assert_allclose(found.node_cpus(allocation, cpus), [(0.1 + 1.95) / 4, (0.1 + 1.8) / 4])


def test_hertz_of_the_node_turn_cycles_into_shares() -> None:
    flow = chain("t", ("A",))
    known = Profiles(flow, {}, {"A": Line(0.0, 2e6)})
    found = Estimator({"t": known}, Line(0.0, 1.0), NodeType(cores=2, hertz=1e9))
    cpus = found.slot_cpus({"t": {"A": 1}}, {"t": 250.0})
    assert cpus["t"]["A"] == pytest.approx(0.5)
    allocation = NodeSlots(1, {"t": np.array([[1]])})
    assert found.node_cpus(allocation, cpus)[0] == pytest.approx(0.25)


def test_the_predicted_load_is_the_forecast_at_the_end_of_the_history() -> None:
    class Double:
        def peaks(self, series: Series, origins: Origins) -> Floats:
            found: Floats = 2 * series.values[origins - 1]
            return found

    flow = chain("t", ("A",))
    found = estimator(profiles(flow, {"A": 1.0}, {}, Double()))
    assert found.predicted_load("t", Series(np.array([1.0, 7.0]))) == 14.0
    with pytest.raises(ConfigurationError, match="fit a forecaster"):
        figure_4().predicted_load("t", Series(np.array([1.0])))


def test_memory_by_hand() -> None:
    flow = chain("t", ("A", "B"))
    known = Profiles(
        flow,
        {("A", "B"): 1.0},
        {"A": Line(0, 0), "B": Line(0, 0)},
        memory={"A": Line(100.0, 1.0), "B": Line(50.0, 2.0)},
    )
    found = Estimator({"t": known}, Line(0, 1), NodeType(memory=1000.0))
    allocation = NodeSlots(2, {"t": np.array([[1, 0], [1, 3]])})
    # A has 40 rows: 140. B has 10 in each of 4 slots: 70.
    memory = found.node_memory(allocation, {"t": 40.0})
    assert memory is not None
    np.testing.assert_allclose(memory, [0.21, 0.21])
    assert figure_4().node_memory(allocation, {"t": 40.0}) is None


def test_bandwidth_counts_what_crosses_between_nodes_only() -> None:
    flow = chain("t", ("A", "B"))
    known = Profiles(flow, {("A", "B"): 2.0}, {"A": Line(0, 0), "B": Line(0, 0)}, row_bytes={("A", "B"): 10.0})
    found = Estimator({"t": known}, Line(0, 1), NodeType(bandwidth=4000.0))
    # 100 rows become 200 of 10 bytes. A on node 0, B on 1: all 2000 cross. B half here, half there: 1000.
    for counts, expected in (
        ([[1, 0], [0, 1]], [0.5, 0.5]),
        ([[1, 0], [1, 1]], [0.25, 0.25]),
        ([[1, 0], [2, 0]], [0, 0]),
    ):
        bandwidth = found.node_bandwidth(NodeSlots(2, {"t": np.array(counts)}), {"t": 100.0})
        assert bandwidth is not None
        np.testing.assert_allclose(bandwidth, expected)


def test_rows_from_outside_are_received_and_sent_by_no_node() -> None:
    flow = chain("t", ("A", "B"))
    known = Profiles(
        flow,
        {(INPUT, "A"): 1.0, ("A", "B"): 2.0},
        {"A": Line(0, 0), "B": Line(0, 0)},
        row_bytes={(INPUT, "A"): 10.0, ("A", "B"): 1.0},
    )
    found = Estimator({"t": known}, Line(0, 1), NodeType(bandwidth=4000.0))
    # 100 rows of 10 bytes come to A, three quarters of it on node 0; 200 of 1 byte cross to B on node 1, or stay there.
    bandwidth = found.node_bandwidth(NodeSlots(2, {"t": np.array([[3, 1], [0, 1]])}), {"t": 100.0})
    assert bandwidth is not None
    np.testing.assert_allclose(bandwidth * 4000.0, [750.0, 250.0 + 150.0])
    assert found.node_bandwidth(NodeSlots(2, {"t": np.array([[3, 1], [0, 1]])}), {}).tolist() == [0.0, 0.0]  # type: ignore[union-attr]


def test_values_of_unknown_streams_are_refused() -> None:
    flow, cpu = chain("t", ("A", "B")), {"A": Line(0, 1), "B": Line(0, 1)}
    for sizes in ({("A", "X"): 1.0}, {(INPUT, "B"): 1.0}, {("B", "A"): 1.0}):
        with pytest.raises(ConfigurationError, match="topology 't' has no streams"):
            Profiles(flow, {("A", "B"): 1.0}, cpu, row_bytes=sizes)
    with pytest.raises(ConfigurationError, match="has no streams \\[\\('X', 'B'\\)\\]"):
        Profiles(flow, {("X", "B"): 1.0}, cpu)


def test_errors_name_missing_profiles() -> None:
    with pytest.raises(ConfigurationError, match="no profiles; there are profiles for \\['t'\\]"):
        figure_4().input_rates("u", 1.0)
    with pytest.raises(ConfigurationError, match="no CPU profile for \\['B'\\]"):
        Profiles(chain("t", ("A", "B")), {}, {"A": Line(0, 1)})
    with pytest.raises(ConfigurationError, match="selectivity of the stream from 'A' to 'B'"):
        chain("t", ("A", "B")).rates(1.0, {})


@pytest.mark.parametrize(
    ("operators", "streams", "message"),
    [
        (("a", "a"), (), "unique, non-empty names"),
        ((), (), "needs operators with"),
        (("a", "b"), (("a", "b"), ("b", "a")), "form a cycle"),
        (("a",), (("a", "x"),), "unknown operators: \\['x'\\]"),
        (("a", "b"), (("a", "b"), ("a", "b")), "must be unique"),
    ],
)
def test_invalid_graphs_are_refused(
    operators: tuple[str, ...], streams: tuple[tuple[str, str], ...], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Dataflow("t", tuple(ScalableOperator(n) for n in operators), streams)


def test_bounds_of_operators_must_be_in_order() -> None:
    with pytest.raises(ConfigurationError, match="3 to 2 slots"):
        ScalableOperator("a", most=2, least=3)
