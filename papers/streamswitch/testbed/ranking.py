"""Comparison of policies: more success with no more slots (StreamSwitch's figures 5 and 17)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from papers.claims import Judged
from papers.streamswitch.testbed.named_policies import (
    DRS,
    DRS_LB,
    DRS_LB_PLUS,
    DRS_PLUS,
    RESTED_DRS,
    RESTED_DRS_LB,
    STATIC,
    SWITCH,
    SWITCH_PLUS,
    SwitchOutcome,
    words,
)

RIVALS = (STATIC, DRS, DRS_LB)
"""The paper's rivals of StreamSwitch, as published."""

RESTED_RIVALS = (STATIC, RESTED_DRS, RESTED_DRS_LB)
"""The same rivals with our rest, for comparison with our version."""

RIVALS_PLUS = (DRS_PLUS, DRS_LB_PLUS)
"""Rivals that the paper does not have."""

HEADER = ("policy", "slots", "success", "lowest success of a shard", "treatments")

_MARKS = {
    SWITCH: "o",
    SWITCH_PLUS: "P",
    DRS: "^",
    DRS_LB: "s",
    RESTED_DRS: "<",
    RESTED_DRS_LB: "*",
    DRS_PLUS: "v",
    DRS_LB_PLUS: "d",
    STATIC: "x",
}


def as_good(found: Sequence[SwitchOutcome], mine: SwitchOutcome, kinds: Sequence[str]) -> list[SwitchOutcome]:
    """Return the runs of these policies with at least the success of ``mine`` and no more slots."""
    return [o for o in found if kind_of(o) in kinds and o.slots <= mine.slots and o.rate >= mine.rate]


def unbeaten(found: Sequence[SwitchOutcome], mine: SwitchOutcome, kinds: Sequence[str]) -> Judged:
    """Describe ``mine`` and each rival's setting closest in slots; True if no rival's setting is as good."""
    present = {kind_of(o) for o in found}
    rivals = [closest(found, kind, mine) for kind in kinds if kind in present]
    return "; ".join(map(words, (mine, *rivals))), not as_good(found, mine, kinds)


def line(found: SwitchOutcome) -> tuple[object, ...]:
    """Return a run as a row of a table with the columns of ``HEADER``."""
    return found.name, round(found.slots, 3), round(found.rate, 5), round(float(found.success.min()), 5), found.events


def listed(title: str, found: Sequence[SwitchOutcome]) -> str:
    """Describe several runs after a title; empty if there are none.

    >>> listed("As good: ", [])
    ''
    """
    return f"{title}{'; '.join(map(words, found))}." if found else ""


def named(found: Sequence[SwitchOutcome], name: str) -> SwitchOutcome:
    """Return the run with that name."""
    return next(o for o in found if o.name == name)


def kind_of(found: SwitchOutcome) -> str:
    """Return the name of the run's policy, without its parameter."""
    return found.name.partition("(")[0]


def closest(found: Sequence[SwitchOutcome], kind: str, ours: SwitchOutcome) -> SwitchOutcome:
    """Return the run of a policy whose number of slots is closest to that of ``ours``."""
    return min((o for o in found if kind_of(o) == kind), key=lambda o: abs(o.slots - ours.slots))


def outdone(rival: SwitchOutcome, ours: Sequence[SwitchOutcome]) -> bool:
    """True if one of ours has more success than the rival with no more slots."""
    return any(o.slots <= rival.slots and o.rate > rival.rate for o in ours)


def scatter(axis: Any, found: Sequence[SwitchOutcome]) -> None:
    """Plot success against slots, one line per policy."""
    for kind, mark in _MARKS.items():
        each = sorted((o for o in found if kind_of(o) == kind), key=lambda o: o.slots)
        if each:
            axis.plot([o.slots for o in each], [100 * o.rate for o in each], marker=mark, ms=4, lw=0.8, label=kind)
    axis.set(xlabel="slots on average", ylabel="success (%)")
    axis.legend()
