"""Scenarios: what a file may say, what it may not, and what the command makes of it."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from rheostat.cli import app
from rheostat.elastic.policies import POLICIES
from rheostat.errors import TopologyError
from rheostat.simulate.scenario import Scenario, make_policy
from rheostat.simulate.sources import KINDS, make_workload

SCENARIOS = sorted((Path(__file__).parents[2] / "scenarios").glob("*.toml"))

SMALL = """
title = "small"
seconds = 4
interval = 0.5
[cluster]
nodes = 2
cores = 4
[workload]
kind = "constant"
rate = 900
shards = 16
[[operators]]
name = "work"
cost = 0.002
executors = 2
[policy]
name = "elasticutor"
"""


def small(**changes: Any) -> dict[str, Any]:
    return {**tomllib.loads(SMALL), **changes}


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda p: p.stem)
def test_every_scenario_that_comes_along_can_be_read(path: Path) -> None:
    found = Scenario.read(path)
    assert found.title
    assert set(found.plan.operators) == {o.name for o in found.job.operators}


def test_the_largest_has_ten_thousand_nodes_and_a_million_shards() -> None:
    found = Scenario.read(next(p for p in SCENARIOS if p.stem == "internet"))
    assert (found.cluster.nodes, found.job.operators[0].shards) == (10_000, 1_000_000)


@pytest.mark.parametrize("name", sorted(POLICIES))
@pytest.mark.parametrize("engine", ["continuous", "epochs"])
def test_any_policy_runs_on_any_engine(name: str, engine: str) -> None:
    found = Scenario.of(small(engine=engine, policy={"name": name}, success={"seconds": 5.0}))
    trace = found.simulation().run(found.seconds)
    assert trace.policy == make_policy({"name": name}).name
    # Epochs take the rows of a second or two later.
    assert trace.mean_throughput() > (200 if engine == "epochs" else 600)


WORKLOADS: dict[str, dict[str, Any]] = {
    "micro": {"rate": 100.0, "executors": 2, "shards_per_executor": 4, "keys": 50},
    "market": {"orders": 10_000, "day_seconds": 600},
    "saturated-market": {"rate": 100.0, "shards": 32},
    "sinusoid": {"base": 100.0, "amplitude": 50.0, "period": 60.0, "shards": 8},
    "nexmark": {"query": "q5", "base": 100.0, "amplitude": 50.0, "period": 60.0},
    "wordcount": {"scale": 0.01},
    "constant": {"rate": 100.0, "shards": 8, "skew": 0.5},
    "curve": {"curve": [100.0, 200.0], "step": 300.0, "shards": 8},
    "recorded": {"load": "synthetic", "peak": 100.0, "shards": 8},
}


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_workload_can_be_named(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RHEOSTAT_DATA", raising=False)
    given = dict(WORKLOADS[kind])
    if kind == "recorded":
        given.pop("load")
    made = make_workload({"kind": kind, **given})
    assert made.rates(0.0, 10.0).shape == (made.shards,)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"speed": 3}, "a scenario has no speed"),
        ({"engine": "spark"}, 'choose "continuous" or "epochs"'),
        ({"cluster": {"node": 3}}, "cluster has no node; known are"),
        ({"policy": {"name": "magic"}}, "policy 'magic': choose one of"),
        ({"policy": {"name": "streamswitch", "bond": 1}}, "policy streamswitch has no bond"),
        ({"workload": {"kind": "tea"}}, "workload 'tea': choose one of"),
        ({"workload": {"kind": "constant", "rat": 3}}, "workload 'constant': .*rat"),
        ({"operators": [{"name": "work", "executors": 1}]}, "operator 'work' needs cost"),
        ({"operators": [{"name": "work", "cost": 1.0, "slots": 9}]}, "begin with 9 slots, but there are 8 cores"),
        ({"operators": [{"name": "work", "cost": 1.0, "weights": "words"}]}, 'needs a workload of kind "wordcount"'),
        ({"seconds": 0}, "seconds=0"),
    ],
)
def test_what_cannot_be_is_refused_with_what_to_do(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(TopologyError, match=message):
        Scenario.of(small(**changes))


@pytest.mark.parametrize("part", ["seconds", "workload", "operators", "policy"])
def test_what_is_missing_is_named(part: str) -> None:
    with pytest.raises(TopologyError, match=f"a scenario needs {part}"):
        Scenario.of({k: v for k, v in small().items() if k != part})


def test_the_command_prints_figures_and_draws(tmp_path: Path) -> None:
    file, plot = tmp_path / "small.toml", tmp_path / "drawn.svg"
    file.write_text(SMALL)
    result = CliRunner().invoke(app, ["simulate", str(file), "--json", "--plot", str(plot), "--policy", "static"])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert (found["scenario"], found["policy"], found["plot"]) == ("small", "static", str(plot))
    assert found["slots"] == 2.0
    assert "<svg" in plot.read_text()


def test_the_command_shows_decisions(tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text(SMALL)
    result = CliRunner().invoke(app, ["simulate", str(file), "--seconds", "3", "--plot", str(tmp_path / "a.png")])
    assert result.exit_code == 0, result.output
    assert "work: scale out, 2 to" in result.output


def test_a_file_that_is_no_toml_is_named(tmp_path: Path) -> None:
    file = tmp_path / "broken.toml"
    file.write_text("seconds = ")
    with pytest.raises(TopologyError, match="broken.toml is not TOML"):
        Scenario.read(file)
    file.write_text(SMALL.replace("seconds = 4", "seconds = -4"))
    with pytest.raises(TopologyError, match="broken.toml: seconds=-4"):
        Scenario.read(file)
