"""``rheostat bench against``: one benchmark at this checkout and at an older commit, by turns on one machine.

A single pair of runs says little on a machine that others use too: the order alternates, and medians are compared.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rheostat.errors import ConfigurationError, RheostatError

HERE = Path(__file__).parents[1]
"""The checkout that this file belongs to."""

_SETUP_SECONDS = 1_800.0
"""Longest time to make the environment of the older commit."""

_RUN_SECONDS = 3_600.0
"""Longest time of one run."""


def run(
    commit: str, arguments: Sequence[str], pairs: int, say: Callable[[str], None] = lambda _: None, here: Path = HERE
) -> dict[str, Any]:
    """Run a benchmark by turns at an older commit and here, and return every figure of both.

    Args:
        commit: the older commit, as git names it.
        arguments: name of the benchmark and its options, which both commits must know.
        pairs: how often each of them runs.
        say: called with each step.
        here: the checkout to compare.
    """
    figures: dict[str, list[dict[str, float]]] = {"old": [], "new": []}
    say(f"making the environment of {commit}")
    with _checked_out(here, commit) as old:
        trees = {"old": old, "new": here}
        for pair in range(pairs):
            for side in ("old", "new") if pair % 2 == 0 else ("new", "old"):
                say(f"pair {pair + 1} of {pairs}: {side}")
                figures[side].append(dict(_numbers(_bench(trees[side], arguments))))
    return {
        "commit": commit,
        "bench": list(arguments),
        "pairs": pairs,
        "figures": compare(figures["old"], figures["new"]),
    }


def compare(old: Sequence[Mapping[str, float]], new: Sequence[Mapping[str, float]]) -> dict[str, dict[str, Any]]:
    """The medians of every figure that both sides have, new over old, and that ratio of every pair, sorted.

    Where an old value is 0 there is no ratio.

    Args:
        old: the figures of every run of the older commit.
        new: the same of the newer one; runs with the same index are a pair.

    >>> compare([{"seconds": 2.0}, {"seconds": 4.0}], [{"seconds": 3.0}, {"seconds": 3.0}])
    {'seconds': {'old': 3.0, 'new': 3.0, 'ratio': 1.0, 'pair_ratios': [0.75, 1.5]}}
    """
    both = [name for name in old[0] if all(name in run for run in (*old, *new))]
    return {
        name: {
            "old": statistics.median(run[name] for run in old),
            "new": statistics.median(run[name] for run in new),
            "ratio": _ratio(statistics.median(run[name] for run in new), statistics.median(run[name] for run in old)),
            "pair_ratios": sorted(
                ratio for a, b in zip(old, new, strict=True) if (ratio := _ratio(b[name], a[name])) is not None
            ),
        }
        for name in both
    }


def _ratio(new: float, old: float) -> float | None:
    """New over old; None if the old value is 0."""
    return round(new / old, 3) if old else None


def _numbers(figures: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, float]]:
    """The numbers among the figures of a benchmark, with names such as ``moving_half.epoch_seconds``."""
    for name, value in figures.items():
        if isinstance(value, dict):
            yield from _numbers(value, f"{prefix}{name}.")
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            yield f"{prefix}{name}", float(value)


@contextmanager
def _checked_out(here: Path, commit: str) -> Iterator[Path]:
    """A worktree of a commit, with its own environment; it is removed at the end."""
    if _git(here, "rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}").returncode:
        raise ConfigurationError(f"{commit!r} is no commit of {here}: name one that git log lists, or fetch it")
    with tempfile.TemporaryDirectory(prefix="rheostat-against-") as folder:
        tree = Path(folder) / "old"
        _checked(_git(here, "worktree", "add", "--detach", str(tree), commit), f"git worktree add {commit}")
        try:
            made = subprocess.run(
                ["make", "env"], cwd=tree, capture_output=True, text=True, timeout=_SETUP_SECONDS, check=False
            )
            _checked(made, f"make env at {commit}")
            yield tree
        finally:
            _git(here, "worktree", "remove", "--force", str(tree))


def _bench(tree: Path, arguments: Sequence[str]) -> dict[str, Any]:
    """The figures that ``rheostat bench`` prints in a checkout."""
    command = [str(tree / ".venv" / "bin" / "rheostat"), "bench", *arguments, "--json"]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True, timeout=_RUN_SECONDS, check=False)
    _checked(done, f"rheostat bench {' '.join(arguments)} in {tree}")
    figures: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return figures


def _git(here: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", *arguments], cwd=here, capture_output=True, text=True, timeout=120.0, check=False)


def _checked(done: subprocess.CompletedProcess[str], what: str) -> None:
    if done.returncode:
        raise RheostatError(f"{what} failed:\n{(done.stderr or done.stdout)[-4000:]}")
