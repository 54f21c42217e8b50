"""Two commits of a small repository whose ``rheostat bench`` only prints: runs alternate, and figures are compared."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from benchmarks.bench_against import run
from rheostat.errors import ConfigurationError, RheostatError

MAKEFILE = """env:
	mkdir -p .venv/bin
	cp bench .venv/bin/rheostat
	chmod +x .venv/bin/rheostat
"""
BENCH = """#!/bin/sh
echo "{version} $*" >> {log}
echo '{{"seconds": {seconds}, "half": {{"epochs": 3, "copied": 0}}, "results_equal": true, "labels": ["a"]}}'
"""


def git(repository: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    return subprocess.run(
        ["git", *identity, *arguments], cwd=repository, check=True, capture_output=True, text=True
    ).stdout


def commit(repository: Path, bench: str) -> None:
    (repository / "Makefile").write_text(MAKEFILE)
    (repository / "bench").write_text(bench)
    git(repository, "add", "Makefile", "bench")
    git(repository, "commit", "-qm", "a version")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Two commits: the older takes 2 seconds, the newer 1."""
    here = tmp_path / "here"
    here.mkdir()
    git(here, "init", "-q")
    for version, seconds in (("old", 2.0), ("new", 1.0)):
        commit(here, BENCH.format(version=version, seconds=seconds, log=tmp_path / "log"))
    subprocess.run(["make", "env"], cwd=here, check=True, capture_output=True)
    return here


def test_runs_alternate_and_medians_are_compared(repository: Path) -> None:
    steps: list[str] = []
    found = run("HEAD~1", ["state", "--rows", "10"], pairs=2, say=steps.append, here=repository)
    ran = (repository.parent / "log").read_text().splitlines()
    assert ran == [f"{side} bench state --rows 10 --json" for side in ("old", "new", "new", "old")]
    assert found["figures"] == {
        "seconds": {"old": 2.0, "new": 1.0, "ratio": 0.5, "pair_ratios": [0.5, 0.5]},
        "half.epochs": {"old": 3.0, "new": 3.0, "ratio": 1.0, "pair_ratios": [1.0, 1.0]},
        "half.copied": {"old": 0.0, "new": 0.0, "ratio": None, "pair_ratios": []},
    }
    assert len(steps) == 5
    assert git(repository, "worktree", "list").count("\n") == 1, "the older commit's worktree is gone"


def test_a_commit_that_is_not_there(repository: Path) -> None:
    with pytest.raises(ConfigurationError, match="'elsewhere' is no commit of .*: name one that git log lists"):
        run("elsewhere", ["state"], pairs=1, here=repository)


def test_a_benchmark_that_fails_is_named_and_nothing_is_left_behind(repository: Path) -> None:
    commit(repository, "#!/bin/sh\necho no such benchmark >&2\nexit 1\n")
    with pytest.raises(RheostatError, match=r"rheostat bench state in .* failed:\nno such benchmark"):
        run("HEAD", ["state"], pairs=1, here=repository)
    assert git(repository, "worktree", "list").count("\n") == 1
