"""Scenarios: files that are read, errors for files that are wrong, and the command ``rheostat simulate``."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from rheostat.cli.main import app
from rheostat.elastic.policies import POLICIES, Elasticutor, Static, StreamSwitch
from rheostat.elastic.streamswitch.diagnosis import Limits
from rheostat.errors import ConfigurationError
from rheostat.simulate.scenario.policy_table import make_policy
from rheostat.simulate.scenario.scenario import Scenario
from rheostat.simulate.scenario.workload_table import KINDS, make_workload
from rheostat.simulate.simulation import Simulation

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
    given = {**tomllib.loads(SMALL), **changes}
    if changes.get("engine") == "epochs" and "interval" not in changes:
        del given["interval"]
    return given


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
    # With epochs, rows leave the job a second or two later.
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
    made, note = make_workload({"kind": kind, **given})
    assert made.rates(0.0, 10.0).shape == (made.shards,)
    assert bool(note) == (kind == "recorded")


def test_a_synthetic_load_instead_of_a_recorded_one_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RHEOSTAT_DATA", raising=False)
    scenario = Scenario.of(small(workload={"kind": "recorded", "load": "mine", "peak": 10, "shards": 16}), ("first",))
    assert scenario.notes[0] == "first"
    assert "using synthetic ones; the load is 'synthetic minutes'" in scenario.notes[1]
    named = {"kind": "recorded", "load": "synthetic minutes", "peak": 10, "shards": 16}
    assert Scenario.of(small(workload=named)).notes == ()


def work(**values: Any) -> dict[str, Any]:
    """The only operator, with other values."""
    return {"operators": [{"name": "work", "cost": 0.002, **values}]}


def policy(name: str = "elasticutor", **values: Any) -> dict[str, Any]:
    return {"policy": {"name": name, **values}}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        # Unknown and missing keys.
        ({"speed": 3}, "^unknown key speed; known keys: .*warm_up"),
        ({"cluster": {"node": 3}}, r"\[cluster\]: unknown key node; known keys: "),
        (policy("magic"), "unknown policy 'magic', choose one of"),
        ({"policy": {}}, "unknown policy None, choose one of"),
        (policy("streamswitch", bond=1), r"\[policy\] streamswitch: unknown key bond"),
        (policy("static", bound=1.0), r"\[policy\] static: unknown key bound; it has no keys"),
        ({"workload": {"kind": "tea"}}, "unknown workload 'tea', choose one of"),
        ({"workload": {"kind": ["constant"]}}, r"unknown workload \['constant'\], choose one of"),
        ({"workload": {"kind": "constant", "rat": 3}}, r"\[workload\] constant: unknown key rat;"),
        ({"workload": {"kind": "constant"}}, r"\[workload\] constant: missing key rate"),
        ({"operators": [{"name": "work", "executors": 1}]}, r"\[\[operators\]\] 'work': missing key cost"),
        ({"operators": [{"cost": 0.1}]}, r"\[\[operators\]\] 1: missing key name"),
        (policy("streamswitch", bounds={"werk": 1.0}), r"\[policy\] bounds: unknown key werk; known keys: work"),
        ({"success": {"operators": {"werk": 1.0}}}, r"\[success\] operators: unknown key werk; known keys: work"),
        # Values of the wrong type.
        ({"seconds": "x"}, 'seconds = "x": write a number'),
        ({"seconds": True}, "seconds = true: write a number"),
        ({"interval": float("nan")}, "interval = nan: write a number"),
        ({"title": 3}, "title = 3: write a text in quotes"),
        ({"every": 1.5}, "every = 1.5: write a whole number"),
        ({"seed": "one"}, 'seed = "one": write a whole number'),
        ({"cluster": {"nodes": "3"}}, r'\[cluster\] nodes = "3": write a whole number'),
        ({"cluster": {"speeds": 2.0}}, r"\[cluster\] speeds = 2.0: write a list of numbers in brackets"),
        ({"cluster": {"speeds": [1.0, "a"]}}, r"\[cluster\] speeds = .*: write a list of numbers"),
        ({"cluster": 3}, r"\[cluster\]: write a table"),
        (work(cost="fast"), r"\[\[operators\]\] 'work' cost = \"fast\": write a number"),
        (work(inputs="split"), r"inputs = \"split\": write a list of texts in brackets, such as \["),
        (work(slots="two"), 'slots = "two": write a whole number'),
        (work(weights="keys"), 'weights = "keys": write "words" or leave it out'),
        ({"operators": {"name": "work", "cost": 0.1}}, r"operators: write \[\[operators\]\], with two brackets"),
        ({"operators": []}, r"operators: write \[\[operators\]\]"),
        ({"operators": ["work"]}, r"\[\[operators\]\] 1: write a table"),
        ({"policy": "static"}, r"policy = 'static': write a table, a line \[policy\]"),
        (policy(bound="low"), r'\[policy\] elasticutor bound = "low": write a number'),
        (policy(release=1), r"release = 1: write true or false"),
        (policy("streamswitch", margin="none"), 'margin = "none": write a number'),
        (policy("streamswitch", bounds=1.0), r"bounds = 1.0: write a number for each name, such as \{"),
        ({"costs": {"queue": "long"}}, r'\[costs\] queue = "long": write a whole number'),
        ({"costs": {"queue": 10.5}}, r"\[costs\] queue = 10.5: write a whole number"),
        ({"success": {"operators": {"work": "1 s"}}}, r"\[success\] operators = .*: write a number for each name"),
        ({"success": 1.0}, r"\[success\]: write a table"),
        ({"workload": "micro"}, r"workload = 'micro': write a table, a line \[workload\]"),
        ({"workload": {"kind": "constant", "rate": "5"}}, r'\[workload\] constant rate = "5": write a number'),
        ({"workload": {"kind": "constant", "rate": 5, "shards": "8"}}, 'shards = "8": write a whole number'),
        ({"workload": {"kind": "curve", "curve": 5}}, "curve = 5: write a list of numbers"),
        ({"workload": {"kind": "recorded", "peak": "x"}}, 'peak = "x": write a number'),
        ({"workload": {"kind": "nexmark", "query": "q7"}}, 'query = "q7": write one of "q2", "q5", "q8"'),
        # Numbers out of range, and values that do not fit together.
        ({"seconds": 0}, "seconds = 0: write a finite number above 0"),
        ({"seconds": float("inf")}, "seconds = inf: write a finite number above 0"),
        ({"engine": ["epochs"]}, "engine = "),
        ({"engine": "spark"}, 'choose "continuous" or "epochs"'),
        ({"every": 0}, "every = 0: write a whole number, 1 or more"),
        ({"seed": -1}, "seed = -1: write a whole number, 0 or more"),
        ({"patience": -1}, "patience = -1: write a number of seconds, 0 or more"),
        ({"engine": "epochs", "overhead": -1}, "overhead = -1: write a number of seconds, 0 or more"),
        ({"engine": "epochs", "interval": 1.0}, 'interval: only engine = "continuous" reads this'),
        ({"engine": "epochs", "costs": {}, "tick": 1.0}, "costs, tick: only engine"),
        ({"task": 0.1}, 'task: only engine = "epochs" reads this; leave it out for "continuous"'),
        ({"warm_up": -1}, "warm_up = -1: write a number of seconds, 0 or more"),
        ({"warm_up": 4}, "warm_up = 4: write fewer seconds than the 4 of the run"),
        ({"interval": 0}, "the tick must be above 0"),
        ({"cluster": {"nodes": 0}}, r"\[cluster\]: .*above 0"),
        ({"cluster": {"nodes": 1, "speeds": [1.0, 2.0]}}, r"\[cluster\]: 2 speeds for 1 nodes"),
        (work(slots=9), "start with 9 slots, but the cluster has 8 cores"),
        (work(slots=0), r"\[\[operators\]\] 'work': 0 slots or executors; write 1 to 16"),
        (work(slots=1, executors=1), "write slots or executors, not both"),
        (work(inputs=["work"]), "the first operator must not have inputs"),
        (work(weights="words"), 'needs a workload of kind "wordcount"'),
        ({"costs": {"queue": 0}}, r"\[costs\]: queue = 0: write a whole number, 1 or more"),
        ({"costs": {"upstream": 0}}, r"\[costs\]: upstream = 0: write a whole number"),
        ({"costs": {"shard_sync": -0.1}}, r"\[costs\]: shard_sync = -0.1: write a finite number of seconds"),
        ({"costs": {"start": float("inf")}}, r"\[costs\]: start = inf: write a finite number of seconds"),
        ({"success": {"seconds": -1}}, r"\[success\]: seconds = -1.0: write a finite number of seconds"),
        ({"success": {"window": 0}}, r"\[success\]: window = 0.0: write a finite number"),
        ({"success": {"end_to_end": 0}}, r"\[success\]: end_to_end = 0.0: write a finite number"),
        ({"success": {"operators": {"work": -1}}}, r"\[success\]: work = -1.0: write a finite number"),
        (policy(bound=-1), r"\[policy\] bound = -1: write a finite number above 0"),
        (policy(threshold=0.5), r"\[policy\] threshold = 0.5: write 1 or more"),
        (policy(locality=-1), r"\[policy\] locality = -1: write 0 or more"),
        (policy(overhead=0), r"\[policy\] overhead = 0: write a finite number above 0"),
        (policy("resource-centric", bound=0), r"\[policy\] bound = 0: write a finite number above 0"),
        (policy("streamswitch", bound=-1), r"\[policy\] Limits\(bound=-1.0.*above 0 seconds"),
        (policy("streamswitch", window=0), r"\[policy\] window = 0: write a finite number above 0"),
        (policy("streamswitch", bounds={"work": -1}), r"\[policy\] bounds.work = -1: write a finite number above 0"),
        ({"workload": {"kind": "constant", "rate": -5}}, r"\[workload\] constant: rate=-5.0: must be a finite number"),
        ({"workload": {"kind": "recorded", "speed": 0}}, r"\[workload\] recorded: speed=0.0: must be a finite number"),
    ],
)
def test_wrong_values_are_refused_with_what_to_do(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Scenario.of(small(**changes))


@pytest.mark.parametrize("part", ["seconds", "workload", "operators", "policy"])
def test_what_is_missing_is_named(part: str) -> None:
    with pytest.raises(ConfigurationError, match=f"missing {part}: write .*{part}"):
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


def test_help_names_every_policy() -> None:
    shown = "".join(CliRunner().invoke(app, ["simulate", "--help"], env={"COLUMNS": "400"}).output.split())
    assert ",".join(POLICIES) in shown


def test_a_figure_of_another_format_is_refused_before_anything_runs(tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text(SMALL)
    result = CliRunner().invoke(app, ["simulate", str(file), "--plot", "drawn.txt"])
    assert result.exit_code == 2
    assert "must end in .svg or .png" in " ".join(result.output.split())


def test_figures_that_are_no_numbers_are_still_json(tmp_path: Path) -> None:
    """No row leaves the job: one takes longer than the whole run."""
    file = tmp_path / "slow.toml"
    file.write_text(SMALL.replace("cost = 0.002", "cost = 100"))
    result = CliRunner().invoke(app, ["simulate", str(file), "--json", "--plot", str(tmp_path / "a.svg")])
    assert result.exit_code == 0, result.output

    def refuse(word: str) -> None:
        raise AssertionError(word)

    assert json.loads(result.stdout, parse_constant=refuse)["latency"] is None


@pytest.mark.parametrize("module", ["rheostat.cli.simulate", "papers.commands"])
def test_commands_load_nothing_heavy_before_they_run(module: str) -> None:
    """Modules that ``import rheostat`` loads do not count."""
    code = f"import sys, rheostat; before = set(sys.modules); import {module}; print(*(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    loaded = {name.split(".")[0] for name in done.stdout.split()}
    assert not loaded & {"numba", "matplotlib", "scipy", "sklearn", "pandas"}
    assert "rheostat.simulate.scenario.scenario" not in done.stdout


def test_the_command_shows_decisions(tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text(SMALL)
    result = CliRunner().invoke(app, ["simulate", str(file), "--seconds", "3", "--plot", str(tmp_path / "a.png")])
    assert result.exit_code == 0, result.output
    assert "work: scale out, 2 to" in result.output


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'name = "elasticutor"',
            'name = "elasticutor"\nbound = -1',
            "[policy] bound = -1: write a finite number above 0",
        ),
        ("[[operators]]", "[operators]", "operators: write [[operators]], with two brackets"),
    ],
)
def test_errors_name_the_file_the_table_and_the_key(old: str, new: str, message: str, tmp_path: Path) -> None:
    """Brackets in messages are not taken for Rich markup."""
    file = tmp_path / "small.toml"
    file.write_text(SMALL.replace(old, new))
    command = [sys.executable, "-m", "rheostat.cli.main", "simulate", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert f"small.toml: {message}" in " ".join(done.stderr.split())


@pytest.mark.parametrize("value", [0, -1])
def test_a_policy_that_is_never_asked_is_refused(value: int) -> None:
    with pytest.raises(ConfigurationError, match=f"every = {value}"):
        Simulation(Scenario.of(small()).simulation().engine, make_policy({"name": "static"}), every=value)


def test_a_file_that_is_no_toml_is_named(tmp_path: Path) -> None:
    file = tmp_path / "broken.toml"
    file.write_text("seconds = ")
    with pytest.raises(ConfigurationError, match="broken.toml is not TOML"):
        Scenario.read(file)
    file.write_text(SMALL.replace("seconds = 4", "seconds = -4"))
    with pytest.raises(ConfigurationError, match="broken.toml: seconds = -4"):
        Scenario.read(file)
    file.write_bytes(b"title = \xff")
    with pytest.raises(ConfigurationError, match="broken.toml is not TOML"):
        Scenario.read(file)


# Another policy than the file's


def write(tmp_path: Path, **values: Any) -> Path:
    file = tmp_path / "small.toml"
    file.write_text("\n".join([SMALL, *(f"{key} = {value}" for key, value in values.items())]))
    return file


def test_another_policy_keeps_the_values_that_it_knows(tmp_path: Path) -> None:
    file = write(tmp_path, bound=0.5, overhead=0.3)
    same = Scenario.read(file, policy="elasticutor")
    assert (same.policy, same.notes) == (Scenario.read(file).policy, ())
    naive = Scenario.read(file, policy="naive-ec")
    assert naive.policy == replace(Elasticutor.naive(0.5), overhead=0.3)
    assert naive.notes == ()


def test_values_that_another_policy_does_not_know_are_noted(tmp_path: Path) -> None:
    found = Scenario.read(write(tmp_path, bound=0.5, overhead=0.3), policy="streamswitch")
    assert found.policy == StreamSwitch(limits=Limits(bound=0.5))
    assert found.notes == ("streamswitch has no overhead: the file's 0.3 is left out",)


def test_a_value_that_the_files_own_policy_does_not_know_is_refused_in_any_case(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="elasticutor: unknown key overheat"):
        Scenario.read(write(tmp_path, overheat=0.3), policy="static")


def test_a_policy_may_be_given_to_a_file_without_one(tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text(SMALL.split("[policy]", maxsplit=1)[0])
    assert Scenario.read(file, policy="static").policy == Static()


def test_the_command_prints_notes(tmp_path: Path) -> None:
    file, plot = write(tmp_path, bound=0.5), tmp_path / "a.svg"
    asked = ["simulate", str(file), "--policy", "static", "--seconds", "1", "--json", "--plot", str(plot)]
    result = CliRunner().invoke(app, asked)
    assert result.exit_code == 0, result.output
    assert "static has no bound: the file's 0.5 is left out" in " ".join(result.stderr.split())
    json.loads(result.stdout)


def test_a_short_run_has_a_short_warm_up(tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text("warm_up = 3\n" + SMALL)
    assert (Scenario.read(file).warm_up, Scenario.read(file, seconds=3.5).warm_up) == (3.0, 3.0)
    found = Scenario.read(file, seconds=2.0)
    assert (found.warm_up, len(found.notes)) == (1.0, 1)
