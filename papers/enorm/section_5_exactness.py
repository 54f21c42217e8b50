"""Enorm's section 5: windows have the same results when shards move. Every row is followed."""

from __future__ import annotations

import numpy as np

from papers.claims import Claim
from papers.enorm.testbed.migration_costs import Strategy
from papers.enorm.testbed.shard_migration import Migration, Rows
from papers.enorm.testbed.shard_migration import run as run_rows
from papers.paper_run import Run
from rheostat.planning.enorm.splitting import Form
from rheostat.windows.window import Window

_SHARDS, _PLACES, _KEYS = 60, 6, 3_000
_WINDOWS = [Window(300, 300), Window(600, 120)]


def reproduce(run: Run) -> list[Claim]:
    """Move every shard twice, at random times, with each strategy, and return the claim."""
    rng = np.random.default_rng(run.seed)
    size = 20_000 if run.quick else 100_000
    times = np.sort(rng.integers(0, 1_800, size)) - rng.integers(0, 20, size)
    rows = Rows(times, rng.integers(0, _KEYS, size), rng.integers(-100, 100, size))
    tried = [(Form.SPLIT, s) for s in Strategy] + [
        (Form.COMBINED, Strategy.SMOOTH),
        (Form.COMBINED, Strategy.DISRUPTIVE),
    ]
    alone = {form: run_rows(rows, [], _WINDOWS, _SHARDS, _PLACES, form).results for form in Form}
    table, same = [], np.array_equal(alone[Form.SPLIT], alone[Form.COMBINED])
    for form, strategy in run.each("windows while shards move", tried):
        found = run_rows(rows, _migrations(strategy, size, rng), _WINDOWS, _SHARDS, _PLACES, form)
        equal = np.array_equal(alone[form], found.results)
        same &= equal
        counts = (found.expanded, found.waited, found.duplicated, found.moved)
        table.append((form.value, strategy.value, len(found.results), equal, *counts))
    header = (
        "form",
        "strategy",
        "results",
        "same",
        "partials at two places",
        "rows waited",
        "rows twice",
        "state moved",
    )
    run.table("migration-exact", header, table)
    return [
        Claim(
            "migration-exact",
            "no migration strategy loses or duplicates a row: windows have the same results as without migrations",
            "stated (sections 2 and 5)",
            f"{sum(row[3] for row in table)} of {len(table)} cases equal, each with {_SHARDS * 2} migrations and "
            f"{size:,} rows",
            same,
        )
    ]


def _migrations(strategy: Strategy, rows: int, rng: np.random.Generator) -> list[Migration]:
    """Return two migrations of every shard, one in each half of the stream."""
    migrations = []
    for shard in range(_SHARDS):
        for begin in (0, rows // 2):
            at = begin + int(rng.integers(rows // 4))
            until = at + int(rng.integers(rows // 5))
            migrations.append(Migration(strategy, shard, int(rng.integers(_PLACES)), at, until))
    return migrations
