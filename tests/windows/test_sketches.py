"""Sketches with more values than they hold exactly: errors stay within what each promises, merged or not."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

import datasketches as ds
import numpy as np
import polars as pl
import pytest

from rheostat.errors import SetupError
from rheostat.topology import aggregates as rh
from rheostat.windows.partials import ROW_COUNT, ROWS, Column
from rheostat.windows.sketches import Distinct, Frequent, Quantile, Sketch
from rheostat.windows.window_layout import HASH, WindowLayout
from tests.topology.builders import loans
from tests.windows.kinds import hll, kll


def merged(sketch: Sketch, blobs: list[bytes | None]) -> bytes | None:
    frame = pl.DataFrame(
        {HASH: [1] * len(blobs), ROWS: [1] * len(blobs), sketch.columns[0].name: pl.Series(blobs, dtype=pl.Binary)}
    )
    (blob,) = WindowLayout((), (ROW_COUNT, sketch)).merge(frame)[sketch.columns[0].name]
    assert blob is None or isinstance(blob, bytes)
    return blob


def test_distinct_counts_overlapping_parts_once() -> None:
    parts = [hll([(0, f"user {i}") for i in range(start, start + 20_000)])[0] for start in (0, 10_000, 20_000)]
    blob = merged(Distinct("x", "string"), parts)
    assert blob is not None
    assert Distinct.estimate(blob) == pytest.approx(40_000, rel=3 * 1.04 / 2**6)


def test_distinct_keeps_its_precision() -> None:
    parts = [hll([(0, i) for i in range(start, start + 500)], lg_k=8)[0] for start in (0, 500)]
    blob = merged(Distinct("x", "bigint", lg_k=8), parts)
    assert ds.hll_sketch.deserialize(blob).lg_config_k == 8


def test_quantiles_of_merged_parts_are_near_in_rank() -> None:
    values = np.random.default_rng(3).permutation(50_000).astype(float)
    blob = merged(Quantile("x"), [kll([(0, v) for v in part])[0] for part in np.array_split(values, 7)])
    assert blob is not None
    ranks = (0.0, 0.1, 0.5, 0.9, 1.0)
    estimates = Quantile.estimate(blob, ranks)
    assert estimates is not None
    assert (estimates[0], estimates[-1]) == (0.0, 49_999.0)
    for estimate, rank in zip(estimates, ranks, strict=True):
        assert estimate / 50_000 == pytest.approx(rank, abs=0.03)


def test_quantiles_of_nothing_are_null() -> None:
    assert Quantile.estimate(ds.kll_doubles_sketch(200).serialize(), (0.5,)) is None


def test_frequent_items_survive_a_crowd_of_rare_ones() -> None:
    sketch = Frequent("x", "string")
    truth: Counter[str] = Counter()
    blobs = []
    for part in range(4):
        made = ds.frequent_strings_sketch(10)
        for value in ["often"] * 500 + ["sometimes"] * 200 + [f"rare {part} {i}" for i in range(2_000)]:
            made.update(value)
            truth[value] += 1
        blobs.append(made.serialize())
    blob = merged(sketch, blobs)
    assert blob is not None
    top = sketch.estimate(blob, 2)
    assert [t["item"] for t in top] == ["often", "sometimes"]
    assert all(t["count"] >= truth[t["item"]] for t in top)


def test_items_of_equal_count_come_in_order_of_the_value() -> None:
    made = ds.frequent_strings_sketch(10)
    for value in ("pear", "apple", "fig", "fig"):
        made.update(value)
    assert Frequent("x", "string").estimate(made.serialize(), 3) == [
        {"item": "fig", "count": 2},
        {"item": "apple", "count": 1},
        {"item": "pear", "count": 1},
    ]


def test_a_single_sketch_passes_through_untouched() -> None:
    (blob,) = kll([(0, 1.0), (1, 2.0)])
    assert merged(Quantile("x"), [None, blob, None]) == blob
    assert merged(Quantile("x"), [None, None]) is None


def test_sketches_of_one_column_have_names_of_their_own() -> None:
    columns = [s.columns for s in (Distinct("x", "string"), Quantile("x"), Frequent("x", "string"))]
    names = ("distinct(x,string,12)", "quantile(x,200)", "frequent(x,string,1000)")
    assert columns == [(Column(f"p.{n}", "binary"),) for n in names]


def test_a_missing_package_is_named_where_the_sketch_is_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasketches", None)
    stream = loans()
    for aggregate in (rh.approx_distinct("area"), rh.quantiles("amount", 0.5), rh.top_k("area")):
        with pytest.raises(SetupError, match=r'rh\.top_k needs the package datasketches.*"rheostat\[sketches\]"'):
            stream.compute("sketched", by="area", value=aggregate)
    stream.compute("exact", by="area", n=rh.count(), mean=rh.mean("amount"))


def test_only_a_sketch_imports_the_package() -> None:
    """What the driver and the tasks of a query load, in a process of its own."""
    code = (
        "import sys, rheostat as rh, rheostat.spark.topology, rheostat.spark.tasks.task\n"
        "assert 'datasketches' not in sys.modules\n"
        "from rheostat.windows.sketches import Quantile\n"
        "assert 'datasketches' not in sys.modules\n"
        "Quantile('x')\n"
        "assert 'datasketches' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
