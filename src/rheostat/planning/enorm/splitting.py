"""Split or combined: the cost model of Enorm section 5.1.1 and the decision of section 5.1.2.

A *combined* component computes every row once per overlapping window and consolidates in the same place. A *split* one
computes every row once, into partials, which are sent to a consolidate elsewhere; its shards can then be moved
without their state. The model compares both over a period as long as the longest window.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import inf

from rheostat.errors import TopologyError


class Form(StrEnum):
    """How a windowed component is laid out.

    >>> m = ComponentLoad(1e6, 1e-5, windows=4, partials=20, shards=60, moves=10, shard_cost=0.1, shard_pause=0.5)
    >>> choose_form(m, now=Form.SPLIT).form, Form.COMBINED.other
    (<Form.COMBINED: 'combined'>, <Form.SPLIT: 'split'>)
    """

    SPLIT = "split"
    COMBINED = "combined"

    @property
    def other(self) -> Form:
        """The other form."""
        return Form.COMBINED if self is Form.SPLIT else Form.SPLIT


@dataclass(frozen=True)
class ComponentLoad:
    """What was measured of a component over the length of its longest window; the paper's symbols in brackets.

    Attributes:
        rows: that came [T_p].
        execute: seconds of CPU for one row's logic [E].
        windows: in how many overlapping windows a row is [W].
        partials: partial windows [PW_p].
        shards: key groups.
        moves: shards moved for balance [MK_p].
        shard_cost: seconds of CPU to move the state of one shard, one copy of it [K_1].
        shard_pause: seconds of latency to move a shard with its state [L].

    >>> for windows in (4, 40):  # a combined component computes every row once per window
    ...     m = ComponentLoad(1e6, 1e-5, windows, partials=20, shards=60, moves=10, shard_cost=0.1, shard_pause=0.5)
    ...     print(choose_form(m, now=Form.COMBINED).reason)
    combined stays: split 131 s of CPU, 0 s paused; combined 60 s of CPU, 5 s paused
    split saves CPU: split 131 s of CPU, 0 s paused; combined 420 s of CPU, 5 s paused
    """

    rows: float
    execute: float
    windows: float
    partials: float
    shards: float
    moves: float
    shard_cost: float
    shard_pause: float

    def __post_init__(self) -> None:
        if wrong := [n for n, v in vars(self).items() if not 0 <= v < inf]:
            raise TopologyError(f"{wrong[0]}={vars(self)[wrong[0]]}: give a number, 0 or more")


@dataclass(frozen=True)
class FormCost:
    """What a form costs in a period.

    Attributes:
        cpu: seconds of CPU.
        latency: seconds of latency for migrations.
    """

    cpu: float
    latency: float


def form_cost(form: Form, measured: ComponentLoad) -> FormCost:
    """The cost of running a component in a form.

    >>> m = ComponentLoad(1e6, 1e-5, windows=4, partials=20, shards=60, moves=10, shard_cost=0.1, shard_pause=0.5)
    >>> form_cost(Form.SPLIT, m), form_cost(Form.COMBINED, m)
    (FormCost(cpu=131.0, latency=0.0), FormCost(cpu=60.0, latency=5.0))
    """
    m = measured
    if form is Form.SPLIT:
        # Partials no longer change when they are sent: another thread does it, and rows do not wait.
        return FormCost(m.rows * m.execute + m.partials * m.shard_cost * m.shards + m.moves * m.shard_cost, 0.0)
    return FormCost(m.rows * m.windows * m.execute + m.moves * m.shard_cost * m.partials, m.moves * m.shard_pause)


@dataclass(frozen=True)
class FormChoice:
    """Which form a component should have.

    Attributes:
        form: the best.
        saved: seconds of CPU per period that this saves; negative where the latency bound costs some.
        reason: in words and numbers.
    """

    form: Form
    saved: float
    reason: str


def choose_form(
    measured: ComponentLoad, now: Form, latency_bound: float = inf, margin: float = 0.0, change_cost: float = 0.0
) -> FormChoice:
    """The form with the least CPU whose latency is within the bound.

    The bound comes first: a form that breaks it is left, whatever that costs. Among forms within the bound, the other
    one is taken only if it saves CPU.

    Args:
        now: the form it has.
        margin: which share of the present CPU cost a change must save, so that small changes of what is measured do not
            make it swing. The paper has none.
        change_cost: seconds of CPU that the change itself costs, to be earned within a period. The paper has none.

    >>> m = ComponentLoad(1e6, 1e-5, windows=4, partials=20, shards=60, moves=10, shard_cost=0.1, shard_pause=0.5)
    >>> choose_form(m, Form.SPLIT).form.value, choose_form(m, Form.SPLIT, latency_bound=2.0).form.value
    ('combined', 'split')
    """
    costs = {form: form_cost(form, measured) for form in Form}
    here, there = costs[now], costs[now.other]
    numbers = "; ".join(f"{form} {c.cpu:.3g} s of CPU, {c.latency:.3g} s paused" for form, c in costs.items())
    if there.latency > latency_bound:
        worse = here.latency > latency_bound and there.latency < here.latency
        best = now.other if worse else now
        return FormChoice(best, here.cpu - costs[best].cpu, f"{now.other} breaks the latency bound: {numbers}")
    if here.latency > latency_bound:
        return FormChoice(now.other, here.cpu - there.cpu, f"{now} breaks the latency bound: {numbers}")
    if here.cpu - there.cpu > margin * here.cpu + change_cost:
        return FormChoice(now.other, here.cpu - there.cpu, f"{now.other} saves CPU: {numbers}")
    return FormChoice(now, 0.0, f"{now} stays: {numbers}")


@dataclass(frozen=True)
class FormChange:
    """A component that should change its form now.

    Attributes:
        component: its name.
        form: the one that it should have.
        saved: seconds of CPU per period that this saves.
        reason: in words and numbers.
    """

    component: str
    form: Form
    saved: float
    reason: str


def best_change(
    measured: Mapping[str, ComponentLoad],
    now: Mapping[str, Form],
    latency_bound: float = inf,
    margin: float = 0.0,
    change_cost: float = 0.0,
) -> FormChange | None:
    """After a period: the one change that helps most, or None. Broken latency bounds come before savings.

    >>> m = ComponentLoad(1e6, 1e-5, windows=4, partials=20, shards=60, moves=10, shard_cost=0.1, shard_pause=0.5)
    >>> best_change({"C1": m, "C2": m}, {"C1": Form.COMBINED, "C2": Form.SPLIT}).component
    'C2'
    """
    found: list[tuple[bool, FormChange]] = []
    for name, values in measured.items():
        choice = choose_form(values, now[name], latency_bound, margin, change_cost)
        if choice.form is not now[name]:
            broken = form_cost(now[name], values).latency > latency_bound
            found.append((broken, FormChange(name, choice.form, choice.saved, choice.reason)))
    return max(found, key=lambda f: (f[0], f[1].saved))[1] if found else None
