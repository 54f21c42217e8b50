"""A query's loop without Spark: observer, actuator and policy, and what an epoch does with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rheostat.elastic.loop.loop import PolicyLoop
from rheostat.elastic.model.policy import Policy
from rheostat.elastic.routing.shard_load import ShardLoads
from rheostat.elastic.routing.table import even_routing
from rheostat.spark.actuator import EpochRouting, SparkActuator
from rheostat.spark.observer import Observer
from rheostat.spark.stage.shard_tally import RECORD
from rheostat.spark.stage.task_reports import PartReport

SHARDS = 8
KEYED = ["by area", "by user @1"]


class Epochs:
    """What an epoch does with the loop, and nothing else."""

    def __init__(self, policy: Policy, slots: int = 2, remembered: Mapping[str, Any] | None = None) -> None:
        routing = {name: even_routing(SHARDS, slots) for name in KEYED} | {"global": even_routing(SHARDS, 1)}
        self.observer = Observer(SHARDS, {n: ShardLoads.of(SHARDS, (remembered or {}).get(n, ())) for n in routing})
        self.actuator = SparkActuator(routing, KEYED)
        self.loop = PolicyLoop(policy, self.actuator.plan, self.actuator)
        self.inbox, self.epoch = self.loop.inbox, 0

    def begin(self, counted: Mapping[str, Mapping[int, int]] | None = None) -> EpochRouting:
        seen, loads = self.observer.before(counted or {}), self.observer.expected(counted or {})
        turn = self.loop.turn(seen, self.actuator.plan, loads)
        return self.actuator.begin(self.epoch, turn, loads)

    def end(self, *reports: PartReport, counted: Mapping[str, Mapping[int, int]] | None = None) -> None:
        self.observer.observe(
            reports, counted or {}, self.actuator.plan, epoch=self.epoch, time=float(self.epoch), seconds=0.5, rows=10
        )
        self.epoch += 1


def report(
    shards: dict[int, float], component: str = "by area", slot: int = 0, rows: Sequence[int] = (), **more: Any
) -> PartReport:
    """A report with the useful seconds, and if given the rows, of some shards."""
    records = np.zeros(len(shards), RECORD)
    records["shard"], records["seconds"] = list(shards), list(shards.values())
    records["rows"] = rows if len(rows) else 0
    return PartReport(component, slot, shards=records, **more)


def slots(routing: Any, component: str = "by area") -> int:
    return len(set(routing[component]))
