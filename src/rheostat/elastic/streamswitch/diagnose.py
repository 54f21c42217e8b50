"""Diagnose: what to do about an operator, if anything (StreamSwitch section 3.2).

One decision moves shards from one slot to one other: all of them (scale in), some of them (balance), or some of them to
a new slot (scale out). Such a small step is quick to carry out, and what it did is measured before the next. The policy
``StreamSwitch`` calls ``diagnose``; DRS uses the other functions here to put its own decisions into words.

Beyond the paper: a limit on the number of slots; and a severe slot that cannot be helped, because one shard alone is
too much for it, does not keep the others from being helped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from rheostat.elastic.model.plan import Action
from rheostat.elastic.streamswitch.diagnosis import OURS, Diagnosis, Health, Limits, Rules, UnitStrategy
from rheostat.elastic.streamswitch.health import (
    assess,
    described,
    distrust,
    operator_health,
    seconds,
    slot_strains,
)
from rheostat.elastic.streamswitch.readings import Readings
from rheostat.elastic.streamswitch.unit_strategies import best_merge, best_move


def diagnose(readings: Readings, limits: Limits, rules: Rules = OURS) -> Diagnosis:
    """The next step: none, scale in, balance or scale out.

    >>> hot = Readings.of((0, 0, 1), (600, 500, 100), service=(1000, 1000), latency=(0.5, 0.01))
    >>> found = diagnose(hot, Limits())
    >>> found.action.value, found.moves, found.health.name, found.projected.name
    ('balance', ((0, 1),), 'SEVERE', 'MODERATE')
    """
    verdict, _, each, worst, which = assess(readings, limits)
    doubt = distrust(readings, verdict)
    if doubt:
        return nothing(readings, Health.MODERATE, (f"the readings cannot be trusted: {doubt}",), feasible=True)
    if len(readings.slots) > limits.max_slots:
        merge = best_merge(readings, limits, rules)
        why = f"{len(readings.slots)} slots are more than the limit of {limits.max_slots}"
        return concluded(readings, limits, Action.SCALE_IN, merge, (why,))
    if worst == Health.SEVERE:
        return _relieved(readings, limits, rules, each)
    if worst == Health.MODERATE:
        return nothing(readings, Health.MODERATE, (f"no slot is severe; {described(readings, limits, which)}",))
    return _saved(readings, limits, rules)


def nothing(readings: Readings, state: Health, reasons: tuple[str, ...], feasible: bool = True) -> Diagnosis:
    """The decision to leave things as they are."""
    return Diagnosis(Action.NOTHING, (), readings.routing, None, None, state, state, feasible, reasons)


def concluded(
    readings: Readings,
    limits: Limits,
    action: Action,
    strategy: UnitStrategy | None,
    reasons: Sequence[str],
    feasible: bool = True,
) -> Diagnosis:
    """A strategy as a diagnosis, with what it is expected to bring."""
    state, after = operator_health(readings, limits, None), operator_health(readings, limits, strategy)
    if strategy is None:
        return nothing(readings, state, (*reasons, "no move of shards helps"), feasible)
    moves = tuple((shard, strategy.target) for shard in strategy.shards)
    expected = (
        f"{action}: {len(moves)} shards from slot {strategy.source} to slot {strategy.target}, projected latency "
        f"{seconds(strategy.before)} before, {seconds(strategy.after)} after"
    )
    return Diagnosis(
        action,
        moves,
        moved(readings.routing, moves),
        strategy.source,
        strategy.target,
        state,
        after,
        feasible,
        (*reasons, expected),
    )


def moved(routing: Sequence[int], moves: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    """The routing table after moves.

    >>> moved((0, 0, 1), [(1, 2)])
    (0, 2, 1)
    """
    table = list(routing)
    for shard, slot in moves:
        if 0 <= shard < len(table):
            table[shard] = slot
    return tuple(table)


def severe_first(readings: Readings, limits: Limits, rules: Rules, each: npt.NDArray[np.int64]) -> Iterator[int]:
    """Places of the severe slots that may be helped, the most strained first.

    As published only those with the highest projected latency are looked at; of overloaded ones, all of which have
    an infinite one, the first that can be helped.
    """
    strains = slot_strains(readings, limits, rules)
    severe = sorted(np.flatnonzero(each == Health.SEVERE).tolist(), key=lambda i: (-strains[i], i))
    return (i for i in severe if rules.overload or strains[i] == strains[severe[0]])


def _saved(readings: Readings, limits: Limits, rules: Rules) -> Diagnosis:
    """All is good: one slot fewer if all stays good."""
    if len(readings.slots) <= limits.min_slots:
        return nothing(readings, Health.GOOD, ("all slots are good, and there are no more than needed",))
    merge = best_merge(readings, limits, rules)
    if merge is None or operator_health(readings, limits, merge) != Health.GOOD:
        return nothing(readings, Health.GOOD, ("all slots are good, and with one slot fewer they would not be",))
    return concluded(readings, limits, Action.SCALE_IN, merge, ("all slots are good, and stay so with one slot fewer",))


def _relieved(readings: Readings, limits: Limits, rules: Rules, each: npt.NDArray[np.int64]) -> Diagnosis:
    """Some are severe: help the worst that can be helped, by another slot if that is enough, else by a new one."""
    room = len(readings.slots) < limits.max_slots
    reasons: list[str] = []
    helpless: list[int] = []
    for source in severe_first(readings, limits, rules, each):
        reasons.append(f"severe: {described(readings, limits, source)}")
        other = best_move(readings, limits, source, rules=rules)
        ignored = helpless if rules.overload else ()
        if other and operator_health(readings, limits, other, ignored) != Health.SEVERE:
            return concluded(readings, limits, Action.BALANCE, other, reasons, feasible=not helpless)
        new = best_move(readings, limits, source, fresh=True, rules=rules)
        if new and room:
            return concluded(readings, limits, Action.SCALE_OUT, new, reasons, feasible=not helpless)
        if other and rules.overload:
            reasons.append(
                f"all {limits.max_slots} slots are in use: the bound cannot be kept, this is the best there is"
            )
            return concluded(readings, limits, Action.BALANCE, other, reasons, feasible=False)
        reasons.append(
            f"slot {readings.slots[source]} cannot be helped: "
            + (
                f"all {limits.max_slots} slots are in use and none is better off"
                if new
                else _too_heavy(readings, source)
            )
        )
        helpless.append(source)
    return nothing(readings, Health.SEVERE, tuple(reasons), feasible=False)


def _too_heavy(readings: Readings, source: int) -> str:
    mine = np.flatnonzero(readings.places == source)
    heaviest = int(mine[readings.arrival[mine].argmax()])
    whole = readings.arrival[mine].sum()
    return f"shard {heaviest} has {readings.arrival[heaviest]:.4g} of its {whole:.4g} rows/s, and cannot be divided"
