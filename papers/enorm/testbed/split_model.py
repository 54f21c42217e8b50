"""The cost model of Enorm section 5.1.1, as published, and the decision of section 5.1.2 over several components.

A *combined* component computes every row once per overlapping window, and consolidates in the same component. A *split*
one computes every row once, into partials, which are sent to a consolidate in another component; its shards can then be
moved without their state. The model compares the costs of both over a period as long as the longest window.
``rheostat.planning.enorm.form_watch`` has the costs that Spark has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

from rheostat.errors import TopologyError
from rheostat.planning.enorm.splitting import Form, FormChoice, FormCost, cheaper_form


@dataclass(frozen=True)
class ComponentLoad:
    """Measurements of a component over a period as long as its longest window; the paper's symbols in brackets.

    Attributes:
        rows: the number of rows [T_p].
        execute: seconds of CPU to process one row [E].
        windows: the number of overlapping windows that a row belongs to [W].
        partials: the number of partial windows [PW_p].
        shards: the number of shards.
        moves: the number of shards moved for balance [MK_p].
        shard_cost: seconds of CPU to move one copy of the state of a shard [K_1].
        shard_pause: seconds of latency to move a shard with its state [L].

    >>> for windows in (4, 40):  # a combined component computes every row once per window
    ...     m = ComponentLoad(1e6, 1e-5, windows, partials=20, shards=60, moves=10, shard_cost=0.1, shard_pause=0.5)
    ...     print(choose_form(m, now=Form.COMBINED).reason)
    split does not save enough CPU: split 131 s of CPU, 0 s of latency; combined 60 s of CPU, 5 s of latency
    split saves CPU: split 131 s of CPU, 0 s of latency; combined 420 s of CPU, 5 s of latency
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
            raise TopologyError(f"{wrong[0]}={vars(self)[wrong[0]]} must be a number, 0 or more")


def form_cost(form: Form, measured: ComponentLoad) -> FormCost:
    """The cost of running a component in a form.

    Args:
        form: split or combined.
        measured: the measurements of the component.

    >>> m = ComponentLoad(1e6, 1e-5, windows=4, partials=20, shards=60, moves=10, shard_cost=0.1, shard_pause=0.5)
    >>> form_cost(Form.SPLIT, m), form_cost(Form.COMBINED, m)
    (FormCost(cpu=131.0, latency=0.0), FormCost(cpu=60.0, latency=5.0))
    """
    m = measured
    if form is Form.SPLIT:
        # Partials do not change after they are sent, so another thread sends them, and rows do not wait.
        return FormCost(m.rows * m.execute + m.partials * m.shard_cost * m.shards + m.moves * m.shard_cost, 0.0)
    return FormCost(m.rows * m.windows * m.execute + m.moves * m.shard_cost * m.partials, m.moves * m.shard_pause)


def choose_form(
    measured: ComponentLoad, now: Form, latency_bound: float = inf, margin: float = 0.0, change_cost: float = 0.0
) -> FormChoice:
    """The form with the lowest CPU cost whose latency is within the bound.

    A form that exceeds the bound is left at any cost. If both forms are within the bound, the form changes only if that
    saves CPU; if both exceed it, the one with less latency is taken.

    Args:
        measured: the measurements of the component.
        now: its current form.
        latency_bound: the largest acceptable latency of migrations per period, in seconds.
        margin: the share of the current CPU cost that a change must save, so that the form does not oscillate with
            small changes of the measurements. Not in the paper.
        change_cost: seconds of CPU that the change itself costs and must save within a period. Not in the paper.

    >>> m = ComponentLoad(1e6, 1e-5, windows=4, partials=20, shards=60, moves=10, shard_cost=0.1, shard_pause=0.5)
    >>> choose_form(m, Form.SPLIT).form.value, choose_form(m, Form.SPLIT, latency_bound=2.0).form.value
    ('combined', 'split')
    """
    return cheaper_form({form: form_cost(form, measured) for form in Form}, now, latency_bound, margin, change_cost)


@dataclass(frozen=True)
class FormChange:
    """A change of a component's form.

    Attributes:
        component: name of the component.
        form: the form that it should change to.
        saved: seconds of CPU that it saves per period; negative if the latency bound forces the change.
        reason: why, as text with figures.
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
    """The one change of form that helps most, or None. Components that exceed the latency bound come first.

    Args:
        measured: the measurements of the last period, by component.
        now: the current form, by component.
        latency_bound: see ``choose_form``.
        margin: see ``choose_form``.
        change_cost: see ``choose_form``.

    >>> m = ComponentLoad(1e6, 1e-5, windows=4, partials=20, shards=60, moves=10, shard_cost=0.1, shard_pause=0.5)
    >>> best_change({"C1": m, "C2": m}, {"C1": Form.COMBINED, "C2": Form.SPLIT}).component
    'C2'
    """
    changes: list[tuple[bool, FormChange]] = []
    for name, load in measured.items():
        choice = choose_form(load, now[name], latency_bound, margin, change_cost)
        if choice.form is not now[name]:
            exceeds = form_cost(now[name], load).latency > latency_bound
            changes.append((exceeds, FormChange(name, choice.form, choice.saved, choice.reason)))
    return max(changes, key=lambda c: (c[0], c[1].saved))[1] if changes else None
