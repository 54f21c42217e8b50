"""Beyond the paper: a micro-batch router sees the whole batch, and places the longest tuples first.

Two comparisons, both with the same batches for everyone. In epochs, all slots finish a batch before the next begins,
as in Spark: what counts is how long a batch takes, its largest slot, over what a perfect placement would take. Without
such a barrier, batches are placed every second and slots work on: what counts is the mean completion time, waiting for
the end of the batch included.

Where to place a tuple decides when a slot ends; in which order a slot executes its tuples of a batch decides how long
they wait for each other, and a router that sees the batch can choose that as well. So without barriers LPT hands each
slot its tuples from the shortest to the longest estimate. Each of the two alone is shown beside it.
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
from papers.posg.testbed.streams import StreamSetting, prepared
from papers.posg.testbed.sweep import SKEWS
from rheostat.arrays import Floats
from rheostat.elastic.posg import Estimates, Greedy, Grouping, LptGrouping, RoundRobin

BATCHES = (128, 512, 2048)
"""Tuples of an epoch. At the paper's rate a second has about 150."""

PERIOD = 1.0
"""Seconds of a batch without barriers."""

NAMES = ("round robin", "POSG", "POSG, sketches merged", "LPT", "LPT, without exchanges")

PROVISIONING = (1.0, 1.05)
FLOWING = {
    "POSG": (False, False),
    "LPT": (True, True),
    "LPT, slots in order of arrival": (True, False),
    "POSG, slots shortest first": (False, True),
}
"""Compared without barriers: whether the longest are placed first, and whether slots execute the shortest first."""

Rows = dict[tuple[str, int], Floats]


def in_batches(run: Run) -> list[Claim]:
    """Longest first against POSG in micro-batches."""
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
    most = max(means, key=lambda key: means[key][1] / means[key][3])
    worst = max(means, key=lambda key: means[key][3] - means[key][2])
    own, merged, plain = (
        {key: _sure(rows[:, lpt] - rows[:, of]) for key, rows in epochs.items()} for lpt, of in ((3, 1), (3, 2), (4, 2))
    )
    rule = "Better or worse by more than two standard errors over the streams."
    return [
        addition(
            "lpt-epochs",
            "in epochs of 128, 512 or 2,048 tuples, LPT balances at least as well as POSG everywhere, better somewhere",
            f"{_counted(own)}; at best ({most[0]}, {most[1]} tuples) a batch takes {means[most][3]:.1%} longer than "
            f"the ideal instead of {means[most][1]:.1%}",
            _never_worse(own),
            f"{rule} LPT uses the sketches of all slots merged.",
        ),
        addition(
            "lpt-merged",
            "it also balances at least as well as POSG with the same merged sketches",
            _counted(merged),
            _never_worse(merged),
            rule,
            detail=f"At worst ({worst[0]}, {worst[1]} tuples) a batch takes {means[worst][3]:.2%} longer than the "
            f"ideal instead of {means[worst][2]:.2%}. If tuples were only placed, the longest first, and not exchanged "
            f"afterwards, it would be {_counted(plain)}: tuples that seem about equal, as of uniform items, then leave "
            "some slots one more than others.",
        ),
    ]


def _without_barriers(run: Run, provisioning: float) -> Claim:
    flowing = _flowing(run, provisioning)
    run.table(
        f"batches_{provisioning:.0%}".rstrip("%"),
        ["stream", *(f"{_column(name)}_seconds" for name in FLOWING)],
        [[SKEWS[skew], *(f"{v:.5f}" for v in rows.mean(axis=0))] for skew, rows in flowing.items()],
    )
    names = list(FLOWING)
    beside = {of: {skew: _sure(rows[:, 1] - rows[:, of]) for skew, rows in flowing.items()} for of in range(4)}

    def differences(of: int) -> str:
        shares = {skew: rows[:, of].mean() / rows[:, 0].mean() - 1 for skew, rows in flowing.items()}
        return ", ".join(f"{share:+.2%} ({SKEWS[skew]})" for skew, share in shares.items())

    return addition(
        f"lpt-completion-{provisioning:.0%}".rstrip("%"),
        f"without barriers, batches of 1 s, {100 * provisioning:.0f} % provisioning: mean completion times with LPT "
        "are never longer than with POSG, and shorter somewhere",
        f"{_counted(beside[0])}: " + differences(1),
        _never_worse(beside[0]),
        "Better or worse by more than two standard errors over the streams. LPT also has slots execute the tuples of a "
        "batch from the shortest to the longest.",
        detail=f"{names[2]}, beside POSG: {differences(2)}; where queues are short, placing in order of arrival also "
        "evens out how a batch begins, placing the longest first only how it ends. "
        f"{names[3]}, beside POSG: {differences(3)}; beside this, LPT is {_counted(beside[3])}.",
    )


def scheduling_speed(run: Run) -> Claim:
    """How fast tuples are hashed, estimated and placed on one core."""
    _, parties = prepared(StreamSetting(), run.seed, 0)
    assert parties.scheduler.work is not None
    items = StreamSetting().drawn(np.random.default_rng(run.seed), 1_000_000)
    seconds = []
    for _ in run.each("scheduling speed", range(7)):
        begun = time.perf_counter()
        parties.scheduler.work.assign(items)
        seconds.append(time.perf_counter() - begun)
    rate = len(items) / min(seconds)
    return addition(
        "speed",
        "scheduling speed: one core places 20 million tuples a second or more on 5 slots",
        f"{rate / 1e6:.0f} million/s",
        rate >= 20e6,
        "Hashing, estimates and placing, the best of 7 times a million tuples.",
    )


def _sure(differences: Floats) -> int:
    """The sign of a mean difference, 0 if it may be chance."""
    mean, error = differences.mean(), differences.std(ddof=1) / np.sqrt(len(differences))
    return int(np.sign(mean)) if abs(mean) > 2 * error else 0


def _counted(signs: Mapping[Any, int]) -> str:
    less, more = (sum(sign == of for sign in signs.values()) for of in (-1, 1))
    return f"better in {less} of {len(signs)} cases, worse in {more}"


def _never_worse(signs: Mapping[Any, int]) -> bool:
    return max(signs.values()) <= 0 and min(signs.values()) < 0


def _column(name: str) -> str:
    return name.replace(", ", "_").replace(" ", "_")


def _epochs(run: Run) -> Rows:
    """By stream and batch, for every stream how much longer than the ideal a batch takes with each grouping."""
    count, rows = 8 if run.quick else 100, dict[tuple[str, int], Floats]()
    for skew, name in run.each("batches: epochs", list(SKEWS.items())):
        each = [[_excess(*_learnt(skew, run, n), batch) for batch in BATCHES] for n in range(count)]
        rows |= {(name, batch): np.array(each)[:, place] for place, batch in enumerate(BATCHES)}
    each = [[_excess(*_learnt_tweets(run, n), batch) for batch in BATCHES] for n in range(count // 2)]
    return rows | {("tweets", batch): np.array(each)[:, place] for place, batch in enumerate(BATCHES)}


def _learnt(skew: float, run: Run, number: int) -> tuple[npt.NDArray[np.int64], Floats, Estimates]:
    """A stream, and what slots know of it from another one."""
    shuffle, parties = prepared(StreamSetting(skew=skew), run.seed, number)
    reports = parties.scheduler.reports
    # A slot whose sketch is not stable yet has not reported it: what it has is then used as it is.
    known = [reports[s].sketch if s in reports else learner.sketch for s, learner in enumerate(parties.learners)]
    return shuffle.items, shuffle.costs, Estimates.of(known)


def _learnt_tweets(run: Run, number: int) -> tuple[npt.NDArray[np.int64], Floats, Estimates]:
    """The same for tweets, of which the first tenth is what slots learnt from."""
    entities, seconds = tweets(run, number, 100_000)
    lesson = len(entities) // 10
    empty = [learner.sketch for learner in StreamSetting().parties(number).learners]
    known = [s.updated(entities[k:lesson:5], seconds[k:lesson:5]) for k, s in enumerate(empty)]
    return entities[lesson:], seconds[lesson:], Estimates.of(known)


def _excess(items: npt.NDArray[np.int64], costs: Floats, known: Estimates, batch: int) -> Floats:
    """How much longer than the ideal the batches take, all together, with each grouping."""
    merged, total = known.shared(), np.zeros(len(NAMES))
    for begin in range(0, len(items), batch):
        part = slice(begin, begin + batch)
        groupings: tuple[Grouping, ...] = (
            RoundRobin(known.slots),
            Greedy.start(known),
            Greedy.start(merged),
            LptGrouping.start(merged),
            replace(LptGrouping.start(merged), exchange=False),
        )
        for place, grouping in enumerate(groupings):
            slots, _ = grouping.assign(items[part])
            total[place] += np.bincount(slots, weights=costs[part]).max()
    excess: Floats = total / (costs.sum() / known.slots) - 1
    return excess


def _flowing(run: Run, provisioning: float) -> Mapping[float, Floats]:
    """Mean completion times in batches without barriers, by skew: a line for every stream."""
    count, found = range(4 if run.quick else 40), {}
    for skew in run.each(f"batches: {provisioning:.0%} provisioning", list(SKEWS)):
        setting = StreamSetting(skew=skew, provisioning=provisioning)
        means = [
            [shuffle_by_posg(*prepared(setting, run.seed, n, *how), period=PERIOD).mean for how in FLOWING.values()]
            for n in count
        ]
        found[skew] = np.array(means)
    return found


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
