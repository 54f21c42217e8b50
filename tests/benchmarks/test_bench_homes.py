"""The parts of ``rheostat bench homes`` that need no cluster."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from benchmarks import bench_homes, slow_reads
from rheostat.state.files import Folder
from tests.state.builders import mounted


def test_only_remote_files_are_read_slowly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr("benchmarks.slow_reads.time.sleep", slept.append)
    read = slow_reads.slow_down(Folder.read)
    (tmp_path / "x").write_bytes(b"1" * 1_000_000)
    assert read(Folder.at(tmp_path), "x") == read(mounted(tmp_path), "x")
    assert slept == [pytest.approx(0.02)]


def test_the_first_file_has_every_key(tmp_path: Path) -> None:
    bench_homes._write(tmp_path / "in", keys=50, rows=20, files=3)
    first, *others = [pl.read_parquet(f) for f in sorted((tmp_path / "in").glob("*.parquet"))]
    assert sorted(first["key"]) == list(range(50))
    assert [len(f) for f in others] == [20, 20]
