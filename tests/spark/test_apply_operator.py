"""An apply operator without Spark: what it keeps for a restart, when it decides, and when routers are told."""

from __future__ import annotations

import json
from collections.abc import Container
from dataclasses import replace

import numpy as np
import pytest

from rheostat.elastic.posg.array_sketch import sketch_of
from rheostat.elastic.posg.learned_costs import COLUMNS, ROWS
from rheostat.elastic.posg.serial import to_text
from rheostat.errors import ConfigurationError
from rheostat.spark.epoch.apply_operator import BY_COST, ApplyOperator
from rheostat.spark.stage.apply_report import ApplyReport
from rheostat.topology.nodes import Apply

APPLY = Apply(name="enrich", upstream="s", inputs=(), schema=(), function=len, cost_by=("entity",))


def reports(
    slots: int, rows: int = 400, costs: tuple[float, float] = (0.01, 0.03), measuring: Container[int] | None = None
) -> list[ApplyReport]:
    """Slots with rows of two items; those that measure know what they cost."""
    items = np.arange(rows) // slots % 2
    sketch = to_text(sketch_of(items, np.where(items, *reversed(costs)), ROWS, COLUMNS))
    known = range(slots) if measuring is None else measuring
    return [ApplyReport(slot, rows=rows, sketch=sketch if slot in known else "") for slot in range(slots)]


def after(epochs: int, slots: int = 4) -> ApplyOperator:
    operator = ApplyOperator.resumed(APPLY, slots, {})
    for _ in range(epochs):
        operator.decide()
        operator.learn(reports(operator.slots))
    return operator


def test_it_goes_on_after_a_restart() -> None:
    operator = after(2)
    assert operator.choice.by_cost
    again = ApplyOperator.resumed(APPLY, 4, json.loads(json.dumps(operator.stored())))
    assert again.choice.by_cost
    assert again.words.startswith("now by cost: costs differ by item")
    assert not again.decide(), "no new decision"
    assert again.learned.sketch.executions == operator.learned.sketch.executions == 3200


@pytest.mark.parametrize(
    "change", [{"sketch": "damaged"}, {"cost_by": ["other"]}, {"sketch": to_text(sketch_of([1], [1.0], 4, 54))}]
)
def test_what_does_not_fit_is_learned_again(change: dict[str, object]) -> None:
    again = ApplyOperator.resumed(APPLY, 4, {**after(2).stored(), **change})
    assert not again.learned.known
    assert not again.choice.by_cost


def test_the_number_of_slots_changes_between_epochs() -> None:
    operator = after(2)
    operator.rescale(7)
    assert operator.slots == 4, "the epoch that runs has its slots"
    operator.learn(reports(4))
    operator.decide()
    operator.learn(reports(7))
    assert (operator.slots, len(operator.learned.factors)) == (7, 7)
    with pytest.raises(ConfigurationError, match="slots=0 must be from 1 to 4096"):
        operator.rescale(0)


def test_routers_are_told_when_much_is_new() -> None:
    operator = after(1)
    assert operator.decide()
    assert operator.action == BY_COST
    texts = []
    for _ in range(30):
        operator.decide()
        spec = operator._spec(1, None)
        assert spec.dealing is not None
        texts.append(spec.dealing.sketch)
        operator.learn(reports(4))
        operator.stored()
    assert 6 < len(set(texts)) < 25


def run_epoch(operator: ApplyOperator, epoch: int, costs: tuple[float, float]) -> tuple[int, ...]:
    """Run an epoch without Spark; return the slots that measured costs."""
    operator.decide()
    measuring = operator._spec(epoch, None).measuring
    operator.learn(reports(operator.slots, costs=costs, measuring=measuring))
    return measuring


def test_while_costs_are_uniform_one_slot_measures() -> None:
    operator = ApplyOperator.resumed(APPLY, 4, {})
    seen = [run_epoch(operator, epoch, (0.02, 0.02)) for epoch in range(17)]
    everyone = (0, 1, 2, 3)
    assert seen == [everyone if epoch % 8 == 0 else (epoch % 4,) for epoch in range(17)]
    assert operator.learned.rows == 1600, "rows of all slots count"
    assert not operator.choice.by_cost


@pytest.mark.parametrize("uniform", [3, 8, 200])
def test_costs_that_begin_to_differ_are_noticed(uniform: int) -> None:
    operator = ApplyOperator.resumed(APPLY, 4, {})
    for epoch in range(uniform):
        run_epoch(operator, epoch, (0.02, 0.02))
    assert not operator.choice.by_cost
    noticed = 0
    while not operator.choice.by_cost and noticed < 20:
        run_epoch(operator, uniform + noticed, (0.01, 0.03))
        noticed += 1
    assert noticed <= 4


def test_without_costs_nothing_is_kept() -> None:
    operator = ApplyOperator.resumed(replace(APPLY, cost_by=()), 4, {})
    assert not operator.decide()
    operator.learn(reports(4))
    assert (operator.stored(), operator.words) == ({}, "")
