"""Policies by their names in StreamSwitch's figures, costs of the two engines, and the result of a run."""

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
"""Bytes in flight to a slot on Flink: 2 buffers of the channel and 8 shared ones, which is Flink's default."""

UNBOUNDED = 1_000_000_000
"""Rows that may wait for a slot. They wait in a log, so senders are never blocked (StreamSwitch section 5.1)."""

SAMZA, FLINK = 0.4, 0.35
"""Seconds that a treatment stops two slots for, without the transfer of state.

The paper says hundreds of milliseconds (section 3.1), and less on Flink than on Samza (section 6.7). The values are
ours. With Flink's, a treatment under the calmest workload of section 6.5 takes 0.5 s including the barrier, as in the
paper."""

REST = 1.0
"""Seconds of rest after a treatment in our versions, until rows that waited for it have left the window.

The paper prints no rest. The code that was published with it leaves the two slots of a treatment alone for five seconds
or more (its ``migration_interval``), so the measured system may have rested."""

KINDS = (Action.SCALE_IN, Action.BALANCE, Action.SCALE_OUT)

SWITCH, DRS, DRS_LB, STATIC = "Switch", "DRS", "DRS-LB", "Static"
"""The policies as published, on which the paper's claims are judged."""

RESTED_DRS, RESTED_DRS_LB = "rested DRS", "rested DRS-LB"
"""The published policies with our rest and our choice of shards, for comparison with our version."""

SWITCH_PLUS, DRS_PLUS, DRS_LB_PLUS = "Switch+", "DRS+", "DRS-LB+"
"""Our versions: the policies as ``rheostat`` has them by default."""

PUBLISHED = {SWITCH: StreamSwitch, DRS: Drs, DRS_LB: DrsLb}
RESTED = {RESTED_DRS: Drs, RESTED_DRS_LB: DrsLb}
OURS = {SWITCH_PLUS: StreamSwitch, DRS_PLUS: Drs, DRS_LB_PLUS: DrsLb}


@dataclass(frozen=True, eq=False)
class SwitchOutcome:
    """The result of one run.

    Attributes:
        name: name of the policy, with its safety margin or its number of slots in brackets.
        slots: mean number of slots in use.
        success: share of windows within the bound, by shard.
        treatments: number of treatments by kind.
        switch: mean seconds of a treatment; 0 if there was none.
        switching: share of the slots' time that is spent on treatments.
    """

    name: str
    slots: float
    success: Floats
    treatments: Mapping[str, int]
    switch: float
    switching: float

    @classmethod
    def of(cls, name: str, trace: Trace, success: Floats, slots: float, warm_up: float = 0.0) -> SwitchOutcome:
        """Return the result of a run from its trace; the job must have one operator.

        Args:
            name: as in the attributes.
            trace: the trace of the run.
            success: as in the attributes.
            slots: as in the attributes.
            warm_up: seconds at the beginning whose treatments do not count.
        """
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
        """Success: the mean over shards."""
        return float(self.success.mean())

    @property
    def events(self) -> int:
        """Number of treatments of all kinds."""
        return sum(self.treatments.values())


def words(found: SwitchOutcome) -> str:
    """Describe a run: its policy, success and number of slots."""
    return f"{found.name} {found.rate:.2%} with {found.slots:.2f} slots"


def policy(
    kind: str, margin: float, bound: float = 1.0, window: float = 1.0, rest: float | None = None, **limits: Any
) -> StreamSwitch | Static:
    """Return a policy by its name in the figures.

    Args:
        kind: one of the names above.
        margin: safety margin epsilon.
        bound: latency bound L in seconds.
        window: length T of a window in seconds.
        rest: seconds of rest after a treatment; None for the default: 0 as published, ``REST`` otherwise.
        limits: other fields of ``Limits``.

    >>> policy("DRS", 0.4).limits.margin, policy("DRS", 0.4).waits.rest, policy("DRS+", 0.4).waits.rest
    (0.4, 0.0, 1.0)
    """
    if kind == STATIC:
        return Static()
    asked = Limits(bound=bound, margin=margin, **limits)
    # The limit is long, so that a treatment which waits for its barrier is not given up.
    if kind in PUBLISHED:
        still = 0.0 if rest is None else rest
        return replace(PUBLISHED[kind].published(asked, window), waits=Waits(limit=600.0, rest=still, calm=still))
    still = REST if rest is None else rest
    rules = Rules(plan=False, patient=False) if kind in RESTED else Rules()
    waits = Waits(limit=600.0, rest=still, calm=max(still, 1.0))
    return {**RESTED, **OURS}[kind](limits=asked, window=window, waits=waits, rules=rules)
