"""POSG's figure 12: tweets that take 25, 5 or 1 ms, depending on whom they mention."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from papers.claims import Claim
from papers.paper_run import Run
from papers.posg.testbed.mentions import Tweets
from papers.posg.testbed.shuffle import Shuffle, shuffle_by_posg, shuffle_round_robin
from papers.posg.testbed.streams import StreamSetting
from papers.posg.testbed.sweep import READ
from rheostat.arrays import Floats
from rheostat.plots import COLOURS

SECONDS = np.array([0.025, 0.005, 0.001])
"""Execution time of a tweet, by the kind that it mentions: media, politicians, others."""

CHOSEN = f"{READ}; the tweets, which are generated, and their rate"
"""The ``chosen`` text of every claim about tweets."""


def tweets(run: Run, number: int, count: int = 500_000) -> tuple[npt.NDArray[np.int64], Floats]:
    """Return the entities that the tweets of a stream mention, and their execution times in seconds."""
    mentions = Tweets(count, seed=run.seed * 1_000 + number).mentions()
    return mentions.entities, SECONDS[mentions.kinds]


def reproduce(run: Run) -> list[Claim]:
    """Reproduce the figure, completion times by number of slots from a cold start, and judge its claims."""
    slots = (1, 2, 5, 10) if run.quick else tuple(range(1, 11))
    streams = [tweets(run, number) for number in range(1 if run.quick else 5)]
    found = {k: _trials(k, streams, run.seed) for k in run.each("fig. 12: tweets", slots)}
    run.table(
        "fig12",
        ["slots", "round_robin_seconds", "posg_seconds", "speedup", "messages"],
        [[k, f"{f[0]:.4f}", f"{f[1]:.4f}", f"{f[0] / f[1]:.4f}", f"{f[2]:.0f}"] for k, f in found.items()],
    )
    with run.figure("fig12", "Mean completion time of tweets") as axes:
        for place, name in enumerate(("round robin", "POSG")):
            axes[0, 0].plot(slots, [f[place] for f in found.values()], "o-", ms=4, label=name, color=COLOURS[place])
        axes[0, 0].set(xlabel="slots k", ylabel="seconds")
        axes[0, 0].legend()
    speedups = {k: f[0] / f[1] for k, f in found.items() if k > 1}
    mean, posg = float(np.mean(list(speedups.values()))), [f[1] for f in found.values()]
    falls = sum(b < a for a, b in pairwise(posg))
    messages = max(f[2] for f in found.values()) / len(streams[0][0]) * 1_000
    return [
        Claim(
            "fig12-speedup",
            "tweets: POSG is faster than round robin for every number of slots from 2 to 10, with a mean speed-up of "
            "1.3 or more",
            "1.37",
            f"{mean:.2f}; smallest {min(speedups.values()):.2f}",
            mean >= 1.3 and min(speedups.values()) > 1,
            "The paper gives neither its tweets nor their rate: ours are generated, at 100 % provisioning for every "
            "number of slots.",
            chosen=CHOSEN,
        ),
        Claim(
            "fig12-ten",
            "tweets: with 10 slots, completion times are still 16 % shorter than with round robin",
            "16 %",
            f"{1 - 1 / speedups[10]:.0%}",
            1 - 1 / speedups[10] >= 0.16,
            f"Measured as a gain, as in figure 4, it is {speedups[10] - 1:.0%}.",
            chosen=CHOSEN,
        ),
        Claim(
            "fig12-gap",
            "tweets: the difference to round robin in seconds is smaller with 10 slots than with 2",
            "yes",
            f"{found[2][0] - found[2][1]:.2f} s with 2, {found[10][0] - found[10][1]:.2f} s with 10",
            found[10][0] - found[10][1] < found[2][0] - found[2][1],
            chosen=CHOSEN,
        ),
        Claim(
            "fig12-falls",
            "tweets: POSG's completion time falls with every slot that is added",
            "yes",
            f"{falls} of {len(posg) - 1} times",
            falls == len(posg) - 1,
            chosen=CHOSEN,
            detail="Completion time in seconds, with the number of slots in brackets: "
            + ", ".join(f"{f[1]:.2f} ({k})" for k, f in found.items())
            + ".",
        ),
        Claim(
            "fig12-messages",
            "tweets: in addition to the tuples, POSG sends fewer than 2 messages for 1,000 of them",
            "916 for 500,000",
            f"{messages:.2f} for 1,000, at most",
            messages < 2,
            chosen=CHOSEN,
        ),
    ]


def _trials(slots: int, streams: list[tuple[npt.NDArray[np.int64], Floats]], seed: int) -> tuple[float, float, float]:
    """Return means over the streams: completion time of round robin and of POSG in seconds, and POSG's messages."""
    rows = []
    for entities, seconds in streams:
        shuffle = Shuffle.at_provisioning(entities, seconds, slots)
        outcome = shuffle_by_posg(shuffle, StreamSetting(slots=slots).parties(seed))
        rows.append((shuffle_round_robin(shuffle).mean, outcome.mean, outcome.messages))
    round_robin, posg, messages = np.mean(rows, axis=0)
    return float(round_robin), float(posg), float(messages)
