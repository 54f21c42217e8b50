"""Diagnose: decides what to do about an operator, if anything (StreamSwitch section 3.2).

One decision moves shards from one slot to one other: all of them (scale in), some of them (balance), or some of them to
a new slot (scale out). Such a small step is quick to carry out, and its effect is measured before the next one. The
policy ``StreamSwitch`` calls ``diagnose``; DRS uses the other functions here to report its own decisions.

Beyond the paper: the number of slots is limited, and a severe slot that cannot be helped, because one shard alone is
too much for it, does not keep the others from being helped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from rheostat.elastic.model.plan import Action
from rheostat.elastic.model.units import rows_per_second
from rheostat.elastic.streamswitch.diagnosis import OURS, Diagnosis, Health, Limits, Rules, UnitStrategy
from rheostat.elastic.streamswitch.health import (
    assess,
    described,
    operator_health,
    problem_after,
    slot_strains,
    strain_text,
)
from rheostat.elastic.streamswitch.readings import Readings
from rheostat.elastic.streamswitch.unit_strategies import best_merge, best_move


def diagnose(readings: Readings, limits: Limits, rules: Rules = OURS) -> Diagnosis:
    """Choose the next step: nothing, scale in, balance or scale out.

    >>> hot = Readings.of((0, 0, 1), (600, 500, 100), service=(1000, 1000), latency=(0.5, 0.01))
    >>> found = diagnose(hot, Limits())
    >>> found.action.value, found.moves, found.health.name, found.projected.name
    ('balance', ((0, 1),), 'SEVERE', 'MODERATE')
    """
    verdict, _, health, worst, worst_place = assess(readings, limits)
    problem = problem_after(readings, verdict)
    if problem:
        return nothing(readings, Health.MODERATE, (f"the readings cannot be trusted: {problem}",), feasible=True)
    if len(readings.slots) > limits.max_slots:
        merge = best_merge(readings, limits, rules)
        reason = f"{len(readings.slots)} slots exceed the limit of {limits.max_slots}"
        return concluded(readings, limits, Action.SCALE_IN, merge, (reason,))
    if worst == Health.SEVERE:
        return _relieve(readings, limits, rules, health)
    if worst == Health.MODERATE:
        return nothing(readings, Health.MODERATE, (f"no slot is severe; {described(readings, limits, worst_place)}",))
    return _scale_in(readings, limits, rules)


def nothing(readings: Readings, state: Health, reasons: tuple[str, ...], feasible: bool = True) -> Diagnosis:
    """Return the decision to change nothing."""
    return Diagnosis(
        action=Action.NOTHING,
        moves=(),
        routing=readings.routing,
        source=None,
        target=None,
        health=state,
        projected=state,
        feasible=feasible,
        reasons=reasons,
    )


def concluded(
    readings: Readings,
    limits: Limits,
    action: Action,
    strategy: UnitStrategy | None,
    reasons: Sequence[str],
    feasible: bool = True,
) -> Diagnosis:
    """Return the diagnosis that carries out a strategy, with its expected effect; nothing if there is no strategy."""
    state, after = operator_health(readings, limits, None), operator_health(readings, limits, strategy)
    if strategy is None:
        return nothing(readings, state, (*reasons, "no move of shards helps"), feasible)
    moves = tuple((shard, strategy.target) for shard in strategy.shards)
    before_text, after_text = (" and ".join(map(strain_text, pair)) for pair in (strategy.before, strategy.after))
    expected = (
        f"{action}: {len(moves)} shards from slot {strategy.source} to slot {strategy.target}, projected latency "
        f"{before_text} before, {after_text} after"
    )
    return Diagnosis(
        action=action,
        moves=moves,
        routing=moved(readings.routing, moves),
        source=strategy.source,
        target=strategy.target,
        health=state,
        projected=after,
        feasible=feasible,
        reasons=(*reasons, expected),
    )


def moved(routing: Sequence[int], moves: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    """Return the routing table after moves, each a pair of a shard and its new slot.

    >>> moved((0, 0, 1), [(1, 2)])
    (0, 2, 1)
    """
    table = list(routing)
    for shard, slot in moves:
        if 0 <= shard < len(table):
            table[shard] = slot
    return tuple(table)


def severe_first(readings: Readings, limits: Limits, rules: Rules, health: npt.NDArray[np.int64]) -> Iterator[int]:
    """Yield the places of the severe slots that may be helped, the most strained first.

    As published, only slots with the highest projected latency may be helped. It is infinite for all overloaded slots,
    so among those the first that can be helped is.

    Args:
        readings: the operator's readings.
        limits: the operator's limits.
        rules: whether overloaded slots are ranked.
        health: health of every slot.
    """
    strains = slot_strains(readings, limits, rules)
    severe = sorted(np.flatnonzero(health == Health.SEVERE).tolist(), key=lambda i: (-strains[i], i))
    return (i for i in severe if rules.overload or strains[i] == strains[severe[0]])


def _scale_in(readings: Readings, limits: Limits, rules: Rules) -> Diagnosis:
    """All slots are good: give one up if the others stay good."""
    if len(readings.slots) <= limits.min_slots:
        return nothing(readings, Health.GOOD, (f"all slots are good, and the minimum is {limits.min_slots}",))
    merge = best_merge(readings, limits, rules)
    if merge is None or operator_health(readings, limits, merge) != Health.GOOD:
        return nothing(readings, Health.GOOD, ("all slots are good, but would not be with one slot fewer",))
    reason = "all slots are good, and stay good with one slot fewer"
    return concluded(readings, limits, Action.SCALE_IN, merge, (reason,))


def _relieve(readings: Readings, limits: Limits, rules: Rules, health: npt.NDArray[np.int64]) -> Diagnosis:
    """Some slots are severe: help the worst that can be helped, by an existing slot if possible, else by a new one."""
    may_grow = len(readings.slots) < limits.max_slots
    reasons: list[str] = []
    helpless: list[int] = []
    for source in severe_first(readings, limits, rules, health):
        reasons.append(f"severe: {described(readings, limits, source)}")
        to_other = best_move(readings, limits, source, rules=rules)
        ignored = helpless if rules.overload else ()
        if to_other and operator_health(readings, limits, to_other, ignored) != Health.SEVERE:
            return concluded(readings, limits, Action.BALANCE, to_other, reasons, feasible=not helpless)
        to_new = best_move(readings, limits, source, fresh=True, rules=rules)
        if to_new and may_grow:
            return concluded(readings, limits, Action.SCALE_OUT, to_new, reasons, feasible=not helpless)
        if to_other and rules.overload:
            reasons.append(
                f"all {limits.max_slots} slots are in use: the bound cannot be kept, this is the best possible step"
            )
            return concluded(readings, limits, Action.BALANCE, to_other, reasons, feasible=False)
        obstacle = (
            f"all {limits.max_slots} slots are in use and no move to another slot is worthwhile"
            if to_new
            else _heaviest_shard(readings, source)
        )
        reasons.append(f"slot {readings.slots[source]} cannot be helped: {obstacle}")
        helpless.append(source)
    return nothing(readings, Health.SEVERE, tuple(reasons), feasible=False)


def _heaviest_shard(readings: Readings, source: int) -> str:
    """Describe the heaviest shard of a slot."""
    shards = np.flatnonzero(readings.places == source)
    heaviest = int(shards[readings.arrival[shards].argmax()])
    load, whole = float(readings.arrival[heaviest]), float(readings.arrival[shards].sum())
    return f"shard {heaviest} receives {rows_per_second(load)} of its {rows_per_second(whole)} and cannot be divided"
