"""The floor's figures: gaps between commits, and the ratio of typical epochs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchmarks.bench_floor import _compare, commit_gaps, typical


def test_an_epoch_lasts_from_commit_to_commit(tmp_path: Path) -> None:
    for epoch, milliseconds in enumerate((0, 900, 1_000, 1_150, 1_350)):
        file = tmp_path / str(epoch)
        file.touch()
        os.utime(file, ns=(0, 1_000_000_000_000 + milliseconds * 1_000_000))
    assert commit_gaps(tmp_path, 2, 5) == pytest.approx([0.1, 0.15, 0.2])


def test_few_slow_epochs_do_not_change_the_typical_one() -> None:
    assert typical([0.1] * 9 + [5.0]) == pytest.approx(0.1)


def test_the_ratio_is_the_median_of_pairs_with_the_fastest_way() -> None:
    sides = {
        "a": [[0.2] * 4, [0.4] * 4, [0.2] * 4],
        "b": [[0.9] * 4],
        "rheostat": [[0.1] * 4, [0.3] * 4, [0.12] * 4],
    }
    found = _compare(sides, "a")
    assert (found["ratio"], found["pair_ratios"]) == (0.6, [0.5, 0.6, 0.75])
    assert found["native_epoch_s"] == {"a": 0.2, "b": 0.9}
