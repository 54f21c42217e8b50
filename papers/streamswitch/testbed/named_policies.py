"""What StreamSwitch's figures have in common: the policies by their names, and what is kept of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rheostat.arrays import Floats
from rheostat.elastic.model.plan import Action
from rheostat.elastic.model.policy import Waits
from rheostat.elastic.policies import Drs, DrsLb, Static, StreamSwitch
from rheostat.elastic.streamswitch.diagnosis import Limits, Rules
from rheostat.simulate.trace import Trace

BUFFERS = 10 * 32_768
"""Bytes on their way to a slot on Flink: 2 buffers of a channel's own and 8 shared ones, which is Flink's default."""

UNBOUNDED = 1_000_000_000
"""Rows that may wait for a slot: they wait in a log, and nobody is stopped (StreamSwitch section 5.1)."""

SAMZA, FLINK = 0.4, 0.35
"""Seconds that two slots stand still besides the transfer of state: hundreds of milliseconds by section 3.1. The values
are ours. Flink is the faster one by section 6.7; with its barrier, a treatment of the calmest workload of section 6.5
takes the 0.5 s that the paper prints."""

REST = 1.0
"""Seconds between two treatments of an operator: until rows that waited for the last one are out of the window.

The paper prints no rest. The system that was published with it leaves the two slots of a treatment alone afterwards,
for five seconds and more (its ``migration_interval``), so the system that was measured did rest."""

KINDS = (Action.SCALE_IN, Action.BALANCE, Action.SCALE_OUT)

SWITCH, DRS, DRS_LB, STATIC = "Switch", "DRS", "DRS-LB", "Static"
"""As they were published, which is what the paper's claims are judged on."""

RESTED_DRS, RESTED_DRS_LB = "rested DRS", "rested DRS-LB"
"""As published, but with our rest and our choice of shards: what our version is compared with."""

SWITCH_PLUS, DRS_PLUS, DRS_LB_PLUS = "Switch+", "DRS+", "DRS-LB+"
"""As they are in this package."""

PUBLISHED = {SWITCH: StreamSwitch, DRS: Drs, DRS_LB: DrsLb}
RESTED = {RESTED_DRS: Drs, RESTED_DRS_LB: DrsLb}
OURS = {SWITCH_PLUS: StreamSwitch, DRS_PLUS: Drs, DRS_LB_PLUS: DrsLb}


@dataclass(frozen=True, eq=False)
class SwitchOutcome:
    """What is kept of one run.

    Attributes:
        name: of the policy, with its safety margin or its number of slots.
        slots: in use on average.
        success: share of the windows within the bound, by shard.
        treatments: how many of each kind; ``switch``, seconds of one on average.
        switching: share of the slots' time that goes into them.
    """

    name: str
    slots: float
    success: Floats
    treatments: Mapping[str, int]
    switch: float
    switching: float

    @classmethod
    def of(cls, name: str, trace: Trace, success: Floats, slots: float, warm_up: float = 0.0) -> SwitchOutcome:
        """From the trace of a job with one operator; treatments during the warm-up do not count."""
        kept = [(d, s) for d, s in zip(trace.decisions, trace.switches, strict=False) if d.time > warm_up]
        seconds = 2 * sum(s for _, s in kept)
        return cls(
            name,
            slots,
            success,
            {action.value: sum(d.action == action.value for d, _ in kept) for action in KINDS},
            float(np.mean([s for _, s in kept])) if kept else 0.0,
            seconds / (trace.mean_slots(warm_up=warm_up) * float(trace.time[-1] - warm_up)),
        )

    @property
    def rate(self) -> float:
        """The success rate: the mean over shards."""
        return float(self.success.mean())

    @property
    def events(self) -> int:
        """All treatments."""
        return sum(self.treatments.values())


def words(found: SwitchOutcome) -> str:
    """A run in words."""
    return f"{found.name} {found.rate:.2%} with {found.slots:.2f}"


def policy(
    kind: str, margin: float, bound: float = 1.0, window: float = 1.0, rest: float | None = None, **limits: Any
) -> StreamSwitch | Static:
    """A policy by its name in the figures.

    Args:
        kind: one of the names above.
        margin: safety margin epsilon.
        bound: latency bound L in seconds.
        window: seconds over which it holds: T.
        rest: seconds between two treatments; None for those that the policy has, none as published.
        limits: other limits of the policy.

    >>> policy("DRS", 0.4).limits.margin, policy("DRS", 0.4).waits.rest, policy("DRS+", 0.4).waits.rest
    (0.4, 0.0, 1.0)
    """
    if kind == STATIC:
        return Static()
    asked = Limits(bound=bound, margin=margin, **limits)
    # A treatment that waits for its barrier is not given up.
    if kind in PUBLISHED:
        still = 0.0 if rest is None else rest
        return replace(PUBLISHED[kind].published(asked, window), waits=Waits(limit=600.0, rest=still, calm=still))
    still = REST if rest is None else rest
    rules = Rules(plan=False, patient=False) if kind in RESTED else Rules()
    waits = Waits(limit=600.0, rest=still, calm=max(still, 1.0))
    return {**RESTED, **OURS}[kind](limits=asked, window=window, waits=waits, rules=rules)
