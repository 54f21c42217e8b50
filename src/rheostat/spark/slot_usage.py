"""What the tasks of a component used, by slot of the plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rheostat.arrays import Floats
from rheostat.elastic.model.plan import OperatorPlan
from rheostat.spark.stage.task_reports import NO_SLOT, PartReport


@dataclass(frozen=True, eq=False)
class SlotUsage:
    """What the tasks of one component used, by slot. Slots without a task are NaN or empty text, with 0 useful seconds.

    Attributes:
        useful: useful seconds.
        cpu_seconds: seconds of a core.
        queued: seconds of waiting for a processor.
        memory: bytes of memory at the peak.
        hosts: the host that the slot ran on, in its last task. Slots without a task have the hosts of the tasks that
            read rows for the component, if there are such tasks.
        executors: the Spark executor that the slot ran on, likewise.
    """

    useful: Floats
    cpu_seconds: Floats
    queued: Floats
    memory: Floats
    hosts: tuple[str, ...]
    executors: tuple[str, ...]

    @classmethod
    def of(cls, reports: Sequence[PartReport], plan: OperatorPlan) -> SlotUsage:
        """Sum up reports. They number the slots without gaps; the plan may have gaps.

        Args:
            reports: the reports of a component's tasks.
            plan: the plan of the component.
        """
        numbers = np.unique(plan.routing)
        useful = np.zeros(len(plan.nodes))
        cpu, queued, memory = (np.full(len(plan.nodes), np.nan) for _ in range(3))
        hosts, executors = [""] * len(plan.nodes), [""] * len(plan.nodes)
        for report in reports:
            if report.slot == NO_SLOT:
                continue
            slot, usage = int(numbers[report.slot]), report.usage
            useful[slot] += report.useful
            cpu[slot] = np.nan_to_num(cpu[slot]) + usage.cpu
            queued[slot] = np.nan_to_num(queued[slot]) + usage.queued
            memory[slot] = np.fmax(memory[slot], usage.memory)
            hosts[slot], executors[slot] = usage.host, usage.executor
        reading = [r.usage for r in reports if r.slot == NO_SLOT]
        for i, slot in enumerate(int(s) for s in numbers if reading and not executors[s]):
            hosts[slot], executors[slot] = reading[i % len(reading)].host, reading[i % len(reading)].executor
        return cls(useful, cpu, queued, memory, tuple(hosts), tuple(executors))


def processors_of(reports: Sequence[PartReport]) -> float:
    """Return the processors of all machines that tasks ran on; NaN if unknown."""
    machines = {r.usage.machine: r.usage.processors for r in reports if r.usage.processors > 0}
    return float(sum(machines.values())) if machines else float("nan")
