"""POSG's figure 10: completion times as a long stream unfolds, while the slots change their speeds half-way."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from papers.claims import Claim
from papers.paper_run import Run
from papers.posg.testbed.shuffle import Shuffle, ShuffleOutcome, shuffle_blindly, shuffle_by_posg
from papers.posg.testbed.streams import StreamSetting
from papers.posg.testbed.sweep import READ
from rheostat.arrays import Floats
from rheostat.elastic.posg import Phase
from rheostat.plots import COLOURS

FACTORS = ((1.05, 1.025, 1.0, 0.975, 0.95), (0.90, 0.95, 1.0, 1.05, 1.10))
TUPLES, CHANGE = 150_000, 75_000
WINDOW = 2_000
"""Tuples of which the figure shows the shortest, mean and longest completion time."""

_NEAR = 20_000
"""Tuples before the change, and at the end, that are compared."""


@dataclass(frozen=True, eq=False)
class TimeSeries:
    """One stream under both groupings, from a cold start.

    Attributes:
        blind: round robin.
        posg: POSG.
    """

    blind: ShuffleOutcome
    posg: ShuffleOutcome

    def summary(self) -> Summary:
        """What the claims need of it: a hundred streams as a whole would fill the memory."""
        learnt, begin = slice(self.learnt), slice(self.runs, CHANGE)
        return Summary(
            _spread(self.blind),
            _spread(self.posg),
            self.runs,
            self.heard,
            bool((self.posg.slots[learnt] == self.blind.slots[learnt]).all()),
            float(self.blind.completion[begin].mean() / self.posg.completion[begin].mean()),
        )

    @property
    def runs(self) -> int:
        """The first tuple that is placed by synchronised estimates."""
        return self._entered(Phase.RUN, 0)

    @property
    def learnt(self) -> int:
        """The first tuple before which the scheduler had heard from every slot."""
        return self._entered(Phase.SEND_ALL, 0)

    @property
    def heard(self) -> int:
        """The first tuple after the change before which the scheduler learnt something new."""
        return self._entered(Phase.SEND_ALL, CHANGE)

    def _entered(self, phase: Phase, after: int) -> int:
        return next((at for at, entered in self.posg.phases if entered is phase and at > after), TUPLES)


@dataclass(frozen=True, eq=False)
class Summary:
    """What is kept of a series.

    Attributes:
        blind: longest minus shortest completion time of every window with round robin.
        posg: the same with POSG.
        runs: the first tuple that is placed by synchronised estimates.
        heard: the first tuple after the change before which the scheduler learnt something new.
        same: True if both groupings place tuples alike until the scheduler has heard from every slot.
        speedup: of POSG from ``runs`` to the change.
    """

    blind: Floats
    posg: Floats
    runs: int
    heard: int
    same: bool
    speedup: float


def reproduce(run: Run) -> list[Claim]:
    """Figure 10, and what happens around the change."""
    first, numbers = _series(run, 0), range(2 if run.quick else 100)
    _draw(run, first)
    series = [_series(run, number).summary() for number in run.each("fig. 10: a change of speeds", numbers)]
    spread, blind = (np.mean([getattr(s, of) for s in series], axis=0) for of in ("posg", "blind"))
    change, near = CHANGE // WINDOW, _NEAR // WINDOW
    before, worst, after = spread[change - near : change].mean(), spread[change:].max(), spread[-near:].mean()
    calm = np.flatnonzero(spread[change + spread[change:].argmax() :] <= 1.5 * before)
    recovered = (change + int(spread[change:].argmax()) + int(calm[0])) * WINDOW if len(calm) else TUPLES
    run.table(
        "fig10",
        ["tuple", "posg_spread", "round_robin_spread"],
        [[(i + 1) * WINDOW, f"{a:.4f}", f"{b:.4f}"] for i, (a, b) in enumerate(zip(spread, blind, strict=True))],
    )
    runs = float(np.mean([s.runs for s in series]))
    speedups = [s.speedup for s in series]
    return [
        Claim(
            "fig10-start",
            "POSG and round robin are the same until POSG has learnt, and POSG is faster from then to the change",
            "from tuple 10,690",
            f"from tuple {runs:,.0f}; then {np.mean(speedups):.1f} times as fast",
            all(s.same for s in series) and min(speedups) > 1,
            "10,690 is just after two windows per slot; over all cells, equation 1 is met after three or more here.",
            chosen=READ,
        ),
        Claim(
            "fig10-change",
            "after the change at tuple 75,000 completion times spread, until new sketches arrive; then POSG recovers",
            "new sketches at tuple 84,912",
            f"longest minus shortest: {before:.1f} s before, {worst:.1f} s at worst, {after:.1f} s at the end; within "
            f"1.5 times of before at tuple {recovered:,}",
            bool(worst > 1.5 * before and after <= 1.5 * before),
            f"The first sketch after the change comes at tuple {np.mean([s.heard for s in series]):,.0f} on average, "
            f"but may be mostly from before it; round robin ends with {blind[-near:].mean():.0f} s.",
            chosen=READ,
        ),
    ]


def _series(run: Run, number: int) -> TimeSeries:
    setting = StreamSetting(tuples=TUPLES)
    items, costs = setting.stream(np.random.default_rng([run.seed, number, 10]))
    shuffle = Shuffle.at_provisioning(items, costs, setting.slots, setting.provisioning, FACTORS)
    return TimeSeries(shuffle_blindly(shuffle), shuffle_by_posg(shuffle, setting.parties(number)))


def _windows(outcome: ShuffleOutcome) -> Floats:
    return outcome.completion.reshape(-1, WINDOW)


def _spread(outcome: ShuffleOutcome) -> Floats:
    """Longest minus shortest completion time of every window."""
    windows = _windows(outcome)
    spread: Floats = windows.max(axis=1) - windows.min(axis=1)
    return spread


def _draw(run: Run, series: TimeSeries) -> None:
    title = "Completion times of every 2,000 tuples as the stream unfolds: mean, shortest to longest"
    with run.figure("fig10", title, width=7.5) as axes:
        axis, at = axes[0, 0], (np.arange(TUPLES // WINDOW) + 1) * WINDOW
        for place, (name, outcome) in enumerate({"round robin": series.blind, "POSG": series.posg}.items()):
            windows = _windows(outcome)
            axis.plot(at, windows.mean(axis=1), label=name, color=COLOURS[place])
            axis.fill_between(at, windows.min(axis=1), windows.max(axis=1), alpha=0.2, lw=0, color=COLOURS[place])
        for position in (series.runs, CHANGE):
            axis.axvline(position, color=COLOURS[5], lw=0.8, ls=":")
        axis.set(xlabel="tuples", ylabel="seconds")
        axis.legend()
