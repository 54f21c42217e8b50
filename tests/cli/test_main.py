"""The command line: help everywhere, errors in one sentence, JSON that programs can read."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def rheostat(*arguments: str, timeout: float = 300) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "rheostat.cli.main", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, cwd=ROOT, check=False)


def test_help_lists_the_commands() -> None:
    done = rheostat("--help")
    assert done.returncode == 0
    for command in ("demo", "explain", "inspect", "run", "bench"):
        assert command in done.stdout
    bench = rheostat("bench", "--help").stdout
    for command in ("windows", "multiwindow", "growth", "state", "rescale", "skew", "slo", "law"):
        assert command in bench


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("bench", "windows", "--overlap", "7"), "choose one of 1, 12, 60"),
        (("bench", "growth", "--kind", "never"), "choose one of append, update, keyed"),
        (("bench", "state", "--rows", "1"), "--rows"),
        (("inspect",), "Missing argument"),
        (("explain", "missing.py"), "does not exist"),
        (("bench", "slo", "--workload", "calm"), "choose one of sinusoid, opening, step, wander"),
        (("bench", "slo", "--policies", "streamswitch,none"), "choose one of static_large"),
        (("demo", "--seconds", "1000"), "--seconds"),
        (("run", "examples/windows.py", "--checkpoint", "c", "--slots", "four"), "pass a number such as 4"),
        (("run", "examples/windows.py", "--checkpoint", "c", "--slots", "1-"), "1-16"),
        (("demo", "--picture", "demo.pdf"), "ends with .svg or .png"),
        (("demo", "windows", "--seconds", "1000"), "--seconds"),
    ],
)
def test_a_wrong_argument_is_explained(arguments: tuple[str, ...], message: str) -> None:
    done = rheostat(*arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_explain_and_run_a_file(tmp_path: Path) -> None:
    explained = rheostat("explain", "examples/lending.py")
    assert explained.returncode == 0, explained.stderr
    assert "1 day       4 x 6 hours" in explained.stdout
    job = tmp_path / "job.py"
    job.write_text(
        f"""
import rheostat as rh

def double(batch):
    import pyarrow as pa, pyarrow.compute as pc
    return pa.RecordBatch.from_arrays([batch["ts"], pc.multiply(batch["id"], 2)], ["ts", "twice"])

def topology(spark):
    made = spark.range(20).selectExpr("timestamp_seconds(id * 30) as ts", "id")
    made.write.mode("overwrite").parquet("{tmp_path}/in")
    rows = spark.readStream.schema("ts timestamp, id bigint").parquet("{tmp_path}/in")
    t = rh.Topology("job")
    doubled = t.source(rows, event_time="ts").map("double", double, schema="ts timestamp, twice bigint")
    windows = doubled.compute("all", s=rh.sum("twice")).consolidate("minutes", rh.tumbling("1 minute"))
    windows.sink(rh.sinks.format("csv", "{tmp_path}/out"))
    return t
"""
    )
    ran = rheostat("run", str(job), "--checkpoint", str(tmp_path / "checkpoint"), "--trigger", "available now")
    assert ran.returncode == 0, ran.stderr
    assert "epoch 0: 20 rows" in ran.stderr
    lines = sorted(line for f in (tmp_path / "out").rglob("*.csv") for line in f.read_text().splitlines())
    assert len(lines) == 9
    assert lines[0].endswith(",2"), lines[0]


@pytest.mark.slow
def test_a_file_without_a_topology_is_told_so(tmp_path: Path) -> None:
    empty = tmp_path / "empty.py"
    empty.write_text("x = 1\n")
    done = rheostat("explain", str(empty))
    assert done.returncode == 1
    assert "defines no function topology(spark)" in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_small_comparison_agrees() -> None:
    done = rheostat("bench", "windows", "--overlap", "60", "--minutes", "150", "--rows", "6000", "--json", timeout=600)
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert figures["results_equal"] is True
    assert figures["results"] > 1000
    for key in ("native_rows_per_s", "rheostat_rows_per_s", "ratio", "rheostat_state_bytes", "peak_rss_mb"):
        assert figures[key] > 0, key
    assert "native_state_bytes" in figures


@pytest.mark.slow
def test_a_short_demo_shows_the_promise_the_decisions_and_a_picture(tmp_path: Path) -> None:
    picture = tmp_path / "demo.svg"
    done = rheostat("demo", "--seconds", "12", "--picture", str(picture), "--json")
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert figures["picture"] == str(picture)
    assert picture.read_text().startswith("<?xml")
    for side in ("static", "streamswitch"):
        assert figures[side]["rows"] > 0
        assert 0 <= figures[side]["success_rate"] <= 1
        assert figures[side]["slot_seconds"] > 0
    assert figures["static"]["decisions"] == 0
    assert figures["streamswitch"]["decisions"] > 0, "it starts with a slot for each core, and the load needs fewer"
    assert "promise kept" in done.stderr
    shown = re.findall(r"^ +[0-9.]+ s  [a-z]", done.stderr, flags=re.MULTILINE)
    assert len(shown) >= figures["streamswitch"]["decisions"], "every change of the plan is shown as it is made"
    assert "Traceback" not in done.stderr, "the queries end quietly"
    assert "Exception" not in done.stderr, "Spark ends quietly"


@pytest.mark.slow
def test_a_short_windows_demo_gives_every_figure() -> None:
    done = rheostat("demo", "windows", "--seconds", "12", "--native-seconds", "0", "--rows-per-second", "500", "--json")
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert figures["native"] is None
    assert figures["rheostat"]["rows"] > 0
    assert figures["rheostat"]["windows_per_row"] == 20
    assert figures["shuffles_avoided"] == 5
    assert "windows emitted" in done.stderr
    assert "Exception in thread" not in done.stderr, "the query ends quietly"
    assert "Traceback" not in done.stderr
