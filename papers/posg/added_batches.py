"""What we add to POSG: a scheduler of micro-batches sees the whole batch, and places the longest tuples first (LPT).

There are two comparisons; in each, all groupings get the same batches.

- With barriers, as in Spark's epochs: all slots finish a batch before the next one begins. Measured is how much longer
  a batch takes, that is its slowest slot, than with a perfect placement.
- Without barriers: batches are placed every second, and slots go on working. Measured is the mean completion time,
  including the time until the batch is placed.

The placement decides when a slot is done. The order in which a slot executes its tuples of a batch decides how long
they wait for each other, and a scheduler that sees the batch can choose it too. So without barriers LPT also sends each
slot its tuples from the shortest to the longest estimate. The effect of either change alone is measured as well.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from papers.claims import Claim, addition
from papers.paper_run import Run
from papers.posg.figure_12_tweets import tweets
from papers.posg.testbed.shuffle import shuffle_by_posg
from papers.posg.testbed.streams import StreamSetting, prepare_stream
from papers.posg.testbed.sweep import SKEWS
from rheostat.arrays import Floats
from rheostat.elastic.posg import Estimates, Greedy, Grouping, LptGrouping, RoundRobin

BATCHES = (128, 512, 2048)
"""Tuples in an epoch. At the paper's rate about 150 arrive in a second."""

PERIOD = 1.0
"""Seconds of a batch without barriers."""

NAMES = ("round robin", "POSG", "POSG, sketches merged", "LPT", "LPT, without exchanges")
"""The groupings that are compared with barriers."""

PROVISIONING = (1.0, 1.05)
"""Provisioning of the comparisons without barriers."""
VARIANTS = {
    "POSG": (False, False),
    "LPT": (True, True),
    "LPT, slots in order of arrival": (True, False),
    "POSG, slots shortest first": (False, True),
}
"""What is compared without barriers: (longest tuples are placed first, slots execute the shortest tuples first)."""

RULE = "Better and worse mean by more than two standard errors over the streams."

Rows = dict[tuple[str, int], Floats]
"""By kind of stream and tuples per batch: excess by stream (row) and grouping (column)."""


def in_batches(run: Run) -> list[Claim]:
    """Compare LPT with POSG in micro-batches."""
    return [*_with_barriers(run), *(_without_barriers(run, provisioning) for provisioning in PROVISIONING)]


def _with_barriers(run: Run) -> list[Claim]:
    epochs = _epochs(run)
    run.table(
        "batches",
        ["stream", "tuples_per_batch", *map(_column, NAMES)],
        [[*key, *(f"{v:.5f}" for v in rows.mean(axis=0))] for key, rows in epochs.items()],
    )
    _draw(run, epochs)
    means = {key: rows.mean(axis=0) for key, rows in epochs.items()}
    _, posg, merged, lpt, plain_lpt = range(len(NAMES))
    best = max(means, key=lambda key: means[key][posg] / means[key][lpt])
    worst = max(means, key=lambda key: means[key][lpt] - means[key][merged])

    def compare(one: int, other: int) -> dict[tuple[str, int], int]:
        return {key: _significant_sign(rows[:, one] - rows[:, other]) for key, rows in epochs.items()}

    beside_posg, beside_merged, without_exchanges = compare(lpt, posg), compare(lpt, merged), compare(plain_lpt, merged)
    return [
        addition(
            "lpt-epochs",
            "in epochs of 128, 512 or 2,048 tuples, placing the longest tuples first (LPT) never balances worse than "
            "POSG, and better in some cases",
            f"{_better_or_worse(beside_posg)}; at best ({best[0]}, {best[1]} tuples) a batch takes "
            f"{means[best][lpt]:.1%} longer than the ideal instead of {means[best][posg]:.1%}",
            _never_worse(beside_posg),
            f"{RULE} LPT merges the sketches of all slots.",
        ),
        addition(
            "lpt-merged",
            "in the same epochs, LPT never balances worse than POSG with merged sketches, and better in some cases",
            _better_or_worse(beside_merged),
            _never_worse(beside_merged),
            RULE,
            detail=f"At worst ({worst[0]}, {worst[1]} tuples) a batch takes {means[worst][lpt]:.2%} longer than the "
            f"ideal instead of {means[worst][merged]:.2%}. LPT also exchanges tuples between slots after placing them. "
            f"Without that, it would be {_better_or_worse(without_exchanges)}: if tuples have about equal estimates, "
            "as uniform items do, some slots then get one tuple more than others.",
        ),
    ]


def _without_barriers(run: Run, provisioning: float) -> Claim:
    times = _completion_times(run, provisioning)
    run.table(
        f"batches_{provisioning:.0%}".rstrip("%"),
        ["stream", *(f"{_column(name)}_seconds" for name in VARIANTS)],
        [[SKEWS[skew], *(f"{v:.5f}" for v in rows.mean(axis=0))] for skew, rows in times.items()],
    )
    posg, lpt, in_order_of_arrival, shortest_first = range(len(VARIANTS))
    names = list(VARIANTS)

    def lpt_beside(other: int) -> dict[float, int]:
        return {skew: _significant_sign(rows[:, lpt] - rows[:, other]) for skew, rows in times.items()}

    def differences(variant: int) -> str:
        shares = {skew: rows[:, variant].mean() / rows[:, posg].mean() - 1 for skew, rows in times.items()}
        return ", ".join(f"{share:+.2%} ({SKEWS[skew]})" for skew, share in shares.items())

    return addition(
        f"lpt-completion-{provisioning:.0%}".rstrip("%"),
        f"without barriers, in batches of 1 s at {100 * provisioning:.0f} % provisioning, mean completion times with "
        "LPT are never longer than with POSG, and shorter in some cases",
        f"{_better_or_worse(lpt_beside(posg))}: " + differences(lpt),
        _never_worse(lpt_beside(posg)),
        f"{RULE} With LPT, slots also execute the tuples of a batch from the shortest to the longest.",
        detail=f"{names[in_order_of_arrival]}, compared with POSG: {differences(in_order_of_arrival)}. Where queues "
        "are short, placing tuples in order of arrival balances the slots from the beginning of a batch, and placing "
        f"the longest first only at its end. {names[shortest_first]}, compared with POSG: "
        f"{differences(shortest_first)}. Compared with that, LPT is {_better_or_worse(lpt_beside(shortest_first))}.",
    )


def scheduling_speed(run: Run) -> Claim:
    """Measure how fast one core hashes tuples, estimates their execution times and places them."""
    _, parties = prepare_stream(StreamSetting(), run.seed, 0)
    assert parties.scheduler.work is not None
    items = StreamSetting().draw_items(np.random.default_rng(run.seed), 1_000_000)
    seconds = []
    for _ in run.each("scheduling speed", range(7)):
        begun = time.perf_counter()
        parties.scheduler.work.assign(items)
        seconds.append(time.perf_counter() - begun)
    rate = len(items) / min(seconds)
    return addition(
        "speed",
        "one core places at least 20 million tuples per second on 5 slots",
        f"{rate / 1e6:.0f} million/s",
        rate >= 20e6,
        "Includes hashing and estimates; the best of 7 measurements with a million tuples.",
    )


def _significant_sign(differences: Floats) -> int:
    """Return the sign of the mean difference; 0 if it is within two standard errors of 0."""
    mean, error = differences.mean(), differences.std(ddof=1) / np.sqrt(len(differences))
    return int(np.sign(mean)) if abs(mean) > 2 * error else 0


def _better_or_worse(signs: Mapping[Any, int]) -> str:
    """Count the cases in which times are significantly shorter (-1) and longer (1)."""
    better, worse = (sum(sign == wanted for sign in signs.values()) for wanted in (-1, 1))
    return f"better in {better} of {len(signs)} cases, worse in {worse}"


def _never_worse(signs: Mapping[Any, int]) -> bool:
    """Return True if no case is significantly worse and at least one is better."""
    return max(signs.values()) <= 0 and min(signs.values()) < 0


def _column(name: str) -> str:
    return name.replace(", ", "_").replace(" ", "_")


def _epochs(run: Run) -> Rows:
    """Measure how much longer than the ideal batches take, with every grouping and size of batches."""
    count, rows = 8 if run.quick else 100, dict[tuple[str, int], Floats]()
    for skew, name in run.each("batches: epochs", list(SKEWS.items())):
        each = [[_excess(*_stream_and_estimates(skew, run, n), batch) for batch in BATCHES] for n in range(count)]
        rows |= {(name, batch): np.array(each)[:, place] for place, batch in enumerate(BATCHES)}
    each = [[_excess(*_tweets_and_estimates(run, n), batch) for batch in BATCHES] for n in range(count // 2)]
    return rows | {("tweets", batch): np.array(each)[:, place] for place, batch in enumerate(BATCHES)}


def _stream_and_estimates(skew: float, run: Run, number: int) -> tuple[npt.NDArray[np.int64], Floats, Estimates]:
    """Return items and costs of a stream, and estimates that slots have learned from another stream."""
    shuffle, parties = prepare_stream(StreamSetting(skew=skew), run.seed, number)
    reports = parties.scheduler.reports
    # A slot whose sketch is not stable yet has not reported it; its unfinished sketch is used then.
    sketches = [reports[s].sketch if s in reports else learner.sketch for s, learner in enumerate(parties.learners)]
    return shuffle.items, shuffle.costs, Estimates.of(sketches)


def _tweets_and_estimates(run: Run, number: int) -> tuple[npt.NDArray[np.int64], Floats, Estimates]:
    """Return entities and costs of a stream of tweets, and estimates learned from the first tenth of it."""
    entities, seconds = tweets(run, number, 100_000)
    lesson = len(entities) // 10
    empty = [learner.sketch for learner in StreamSetting().parties(number).learners]
    slots = len(empty)
    sketches = [s.updated(entities[k:lesson:slots], seconds[k:lesson:slots]) for k, s in enumerate(empty)]
    return entities[lesson:], seconds[lesson:], Estimates.of(sketches)


def _excess(items: npt.NDArray[np.int64], costs: Floats, estimates: Estimates, batch: int) -> Floats:
    """Return how much longer than the ideal all batches together take with each grouping, as a share of the ideal."""
    merged, total = estimates.shared(), np.zeros(len(NAMES))
    for begin in range(0, len(items), batch):
        part = slice(begin, begin + batch)
        groupings: tuple[Grouping, ...] = (
            RoundRobin(estimates.slots),
            Greedy.start(estimates),
            Greedy.start(merged),
            LptGrouping.start(merged),
            replace(LptGrouping.start(merged), exchange=False),
        )
        for place, grouping in enumerate(groupings):
            slots, _ = grouping.assign(items[part])
            total[place] += np.bincount(slots, weights=costs[part]).max()
    excess: Floats = total / (costs.sum() / estimates.slots) - 1
    return excess


def _completion_times(run: Run, provisioning: float) -> Mapping[float, Floats]:
    """Return mean completion times in batches without barriers, by skew, then by stream (row) and variant (column)."""
    count, times = range(4 if run.quick else 40), {}
    for skew in run.each(f"batches: {provisioning:.0%} provisioning", list(SKEWS)):
        setting = StreamSetting(skew=skew, provisioning=provisioning)
        means = [
            [
                shuffle_by_posg(*prepare_stream(setting, run.seed, n, *how), period=PERIOD).mean
                for how in VARIANTS.values()
            ]
            for n in count
        ]
        times[skew] = np.array(means)
    return times


def _draw(run: Run, epochs: Rows) -> None:
    names = [name for name, batch in epochs if batch == BATCHES[0]]
    with run.figure("batches", "How much longer than the ideal an epoch takes", columns=len(BATCHES)) as axes:
        for column, batch in enumerate(BATCHES):
            axis = axes[0, column]
            for place, grouping in enumerate(NAMES):
                axis.plot(names, [epochs[name, batch][:, place].mean() for name in names], "o-", ms=3, label=grouping)
            axis.set(title=f"{batch} tuples", yscale="log")
            axis.tick_params(axis="x", rotation=60)
        axes[0, -1].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
