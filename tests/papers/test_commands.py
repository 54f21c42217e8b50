"""``rheostat reproduce``: papers that were made up, run from the command line."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from papers import commands
from papers.claims import Claim, addition, versions
from papers.paper_run import Run

CLAIMS = [
    Claim("fig1", "x grows", "2 x", "3 x", True),
    Claim("fig2", "y shrinks", "0.5 x", "1.1 x", False, "It does not, and nobody knows why.", detail="Nobody at all."),
    addition("speed", "it is quick", "1 s", True),
]


def paper(name: str, runs: list[Run]) -> ModuleType:
    def reproduce(run: Run) -> list[Claim]:
        runs.append(run)
        for number in run.each("some figures", [1, 2, 3]):
            run.table(f"table{number}", ["x", "y"], [[1, 2.5], ["a,b", "c"]])
        with run.figure("fig1", "a line") as axes:
            axes[0, 0].plot(np.arange(3))
        return CLAIMS

    module: Any = ModuleType(f"papers.{name}.{name}_evaluation")
    module.TITLE, module.ABOUT, module.reproduce = f"The paper of {name}", f"What is ours in {name}.", reproduce
    return module  # type: ignore[no-any-return]


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Run]:
    """Two papers, and what they were run with; the command runs in a folder of its own."""
    seen: list[Run] = []
    monkeypatch.setattr(commands, "PAPERS", ("one", "two"))
    for name in ("one", "two"):
        monkeypatch.setitem(sys.modules, f"papers.{name}.{name}_evaluation", paper(name, seen))
    monkeypatch.chdir(tmp_path)
    return seen


def invoke(*arguments: str) -> Any:
    app = typer.Typer()
    app.command()(commands.reproduce)
    return CliRunner().invoke(app, list(arguments))


def test_a_paper_leaves_its_figures_tables_and_claims(runs: list[Run]) -> None:
    result = invoke("one", "--reports", "out")
    assert result.exit_code == 0, result.output
    assert sorted(path.name for path in Path("out/one").iterdir()) == [
        "claims.md",
        "fig1.svg",
        "table1.csv",
        "table2.csv",
        "table3.csv",
    ]
    assert Path("out/one/claims.md").read_text().startswith("# The paper of one\n\n### What the paper says\n\n1 of 2")
    with Path("out/one/table1.csv").open(newline="") as file:
        assert list(csv.reader(file)) == [["x", "y"], ["1", "2.5"], ["a,b", "c"]]


def test_a_folder_that_cannot_be_made_is_told_before_anything_runs(runs: list[Run]) -> None:
    Path("taken").write_text("a file")
    result = invoke("one", "--reports", "taken")
    assert result.exit_code == 2
    assert "name another folder" in " ".join(result.output.replace("│", " ").split())
    assert runs == []


def test_claims_are_shown_with_what_holds(runs: list[Run]) -> None:
    output = " ".join(invoke("one").output.split())
    told = ("1 of 2 claims hold.", "What we add", "1 of 1 statements hold.", "Figures and tables are in reports/")
    for part in ("x grows", "3 x", "yes", "y shrinks", "1.1 x", "no", "it is quick", *told):
        assert part in output


def test_json_is_one_list_and_nothing_else(runs: list[Run]) -> None:
    result = invoke("all", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert [claim["id"] for claim in found] == ["fig1", "fig2", "speed"] * 2
    assert [claim["holds"] for claim in found] == [True, False, True] * 2
    assert [claim["origin"] for claim in found] == ["paper", "paper", "ours"] * 2


def test_options_reach_the_paper(runs: list[Run]) -> None:
    invoke("one", "--quick", "--seed", "7", "--reports", "elsewhere")
    (run,) = runs
    assert (run.quick, run.seed, run.folder) == (True, 7, Path("elsewhere/one"))
    invoke("two")
    assert (runs[1].quick, runs[1].seed, runs[1].folder) == (False, 1, Path("reports/two"))


def test_a_paper_that_nobody_wrote_is_refused(runs: list[Run]) -> None:
    result = invoke("three")
    assert result.exit_code == 2
    assert "one, two or all" in " ".join(result.output.replace("│", " ").split())
    assert not runs


def test_a_negative_seed_is_refused(runs: list[Run]) -> None:
    assert invoke("one", "--seed", "-1").exit_code == 2


def test_all_papers_write_the_page_of_the_documentation(runs: list[Run]) -> None:
    Path("docs").mkdir()
    assert invoke("all").exit_code == 0
    page, notes = (Path("docs", name).read_text() for name in ("reproduction.md", "reproduction-notes.md"))
    assert page.count("1 of 2 claims hold.") == 2
    assert page.count("[More](reproduction-notes.md#one-fig2)") == 1
    assert notes.index("What is ours in one.") < notes.index("Nobody at all.") < notes.index("What is ours in two.")
    assert page.index("## The paper of one") < page.index("## The paper of two")


@pytest.mark.parametrize("arguments", [("all", "--quick"), ("one",)])
def test_the_page_is_not_written_from_less_than_all(runs: list[Run], arguments: tuple[str, ...]) -> None:
    Path("docs").mkdir()
    assert invoke(*arguments).exit_code == 0
    assert list(Path("docs").iterdir()) == []


def test_no_page_where_there_is_no_documentation(runs: list[Run]) -> None:
    assert invoke("all").exit_code == 0
    assert not Path("docs").exists()


def shown(claim: Claim) -> str:
    text = StringIO()
    commands.show("A title", [claim], Console(file=text, width=200))
    return text.getvalue()


def test_square_brackets_are_shown() -> None:
    """Only what begins with a small letter is lost: E[T] is not, units are."""
    text = shown(Claim("a", "E[T] stays below T_max", "[low]", "1 [ms]", True, "for [most] of the time"))
    for part in ("E[T] stays", "[low]", "1 [ms]", "[most]"):
        assert part in text


def test_a_slash_in_square_brackets_is_no_error() -> None:
    assert "rows [/s]" in shown(Claim("a", "throughput in rows [/s]", "1", "2", True))


def test_our_version_and_what_is_chosen_are_shown() -> None:
    text = shown(versions("a", "x grows", "2 x", [("1 x", False), ("3 x", True)], chosen="the speed"))
    for part in ("1 x", "3 x (yes)", "the speed", "as published", "our version", "chosen by us"):
        assert part in text
    assert "Not decided: one node." in shown(Claim("a", "x", "y", "z", False, limit="one node"))


def test_every_paper_has_a_title_and_a_function() -> None:
    """Papers that are there; a name for which no module was written yet is passed over."""
    import importlib
    import importlib.util

    written = [name for name in commands.PAPERS if importlib.util.find_spec(f"papers.{name}.{name}_evaluation")]
    assert written
    for name in written:
        module = importlib.import_module(f"papers.{name}.{name}_evaluation")
        assert isinstance(module.TITLE, str)
        assert "**As published**" in module.ABOUT
        assert callable(module.reproduce)


def test_the_command_loads_no_figures_before_it_runs() -> None:
    code = "import papers.commands, sys; print([m for m in ('matplotlib', 'numpy', 'numba') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"


# What a run offers


class Told:
    """Writes down how far a run is."""

    def __init__(self) -> None:
        self.parts: list[tuple[str, int]] = []
        self.steps = 0

    def begin(self, title: str, steps: int) -> None:
        self.parts.append((title, steps))

    def advance(self) -> None:
        self.steps += 1


def test_progress_follows_the_items(tmp_path: Path) -> None:
    told = Told()
    run = Run(tmp_path, watcher=told)
    done: list[str] = []
    for item in run.each("things", "abc"):
        assert told.steps == len(done)
        done.append(item)
    assert (done, told.parts, told.steps) == (["a", "b", "c"], [("things", 3)], 3)


def test_a_silent_run_says_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert list(Run(tmp_path).each("things", [1, 2])) == [1, 2]
    assert capsys.readouterr() == ("", "")


def test_tables_may_come_from_a_generator(tmp_path: Path) -> None:
    Run(tmp_path / "new").table("t", ["n"], ([i] for i in range(2)))
    assert (tmp_path / "new" / "t.csv").read_text().split() == ["n", "0", "1"]
