"""Algorithm 1 for an engine with epochs: the slots that operators need, then the nodes (ELYSIUM section 3.2).

In the paper, every operator instance runs all the time and has a core's share. On Spark, stages run one after the
other, and the slots of a stage take cores in turn. So the share of time that matters is that of all stages together:

- An operator is in stress if the busiest slots of all stages, one after the other, take more than ``core_max`` of the
  time. The slot that shortens the stages most is added first.
- Nodes are in stress if the stages, on the cores of all nodes, and the reading of rows take more than ``cpu_max``.

Whole waves: if a stage has more slots than cores, it takes as many turns as the fullest core has slots. Slots are then
rounded up until all cores have the same number, which costs a task and saves a turn.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass

from rheostat.elastic.elysium.configuration import Thresholds
from rheostat.elastic.model.units import rows_per_second


@dataclass(frozen=True)
class StageDemand:
    """What an operator needs at the expected load.

    Attributes:
        work: core seconds per second of stream.
        hottest: core seconds per second of its busiest shard, which no slot can be below.
        level: number of its stage.
        least: fewest slots.
        most: most slots.

    >>> StageDemand(work=2.0, hottest=0.8).busiest(2), StageDemand(work=2.0, hottest=0.8).busiest(4)
    (1.0, 0.8)
    """

    work: float
    hottest: float = 0.0
    level: int = 0
    least: int = 1
    most: int = 1024

    def busiest(self, slots: int) -> float:
        """Return the core seconds per second of the busiest of some slots."""
        return max(self.work / slots, self.hottest)


@dataclass(frozen=True)
class NodeBounds:
    """The nodes that may be used.

    Attributes:
        least: fewest nodes.
        most: most nodes.
        cores: cores of a node.

    >>> NodeBounds(1, 4).cores
    1
    """

    least: int
    most: int
    cores: int = 1


@dataclass(frozen=True)
class EpochConfig:
    """A configuration for an engine with epochs.

    Attributes:
        slots: slots by operator.
        nodes: number of nodes.
        use: share of the time that stages and reading take, relative to the threshold of nodes.
        feasible: False if something stays in stress; it is then the best configuration within the bounds.
        reasons: why, in words and numbers.
    """

    slots: Mapping[str, int]
    nodes: int
    use: float
    feasible: bool
    reasons: tuple[str, ...] = ()


def compute_epoch_config(
    demands: Mapping[str, StageDemand],
    nodes: NodeBounds,
    thresholds: Thresholds,
    *,
    reading: float = 0.0,
    load: float = 0.0,
) -> EpochConfig:
    """Choose the fewest slots that keep operators out of stress, then the fewest nodes that carry them.

    Args:
        demands: what operators need, by name.
        nodes: the nodes that may be used.
        thresholds: when operators and nodes are in stress.
        reading: share of the time in which rows are read, before they reach their slots.
        load: rows per second, for the reasons.

    >>> found = compute_epoch_config({"sum": StageDemand(0.7)}, NodeBounds(1, 4), Thresholds())
    >>> found.slots, found.nodes  # a slot would be busy 70 % of the time; two of them share the core of one node
    ({'sum': 2}, 1)
    >>> compute_epoch_config({"sum": StageDemand(2.0)}, NodeBounds(1, 4), Thresholds()).nodes
    3
    """
    # Slots that are busier than nodes may be would leave no number of nodes that is enough.
    slots, calm = operator_stage(demands, min(thresholds.core_max, thresholds.cpu_max))
    needs = ", ".join(f"{count} of {name}" for name, count in slots.items())
    reasons = [f"{rows_per_second(load)} need {needs}"]
    if not calm:
        reasons.append("an operator stays in stress with the most slots that help it")
    best: EpochConfig | None = None
    for count in range(nodes.least, nodes.most + 1):
        cores = count * nodes.cores
        rounded = {name: whole_waves(k, cores, demands[name].most) for name, k in slots.items()}
        use = (stages_share(demands, rounded, cores) + reading) / thresholds.cpu_max
        if best is None or use < best.use - 1e-9:
            best = EpochConfig(rounded, count, use, use <= 1.0)
        if use <= 1.0:
            break
    assert best is not None
    verb = "node uses" if best.nodes == 1 else "nodes use"
    reasons.append(f"{best.nodes} {verb} {best.use:.0%} of the threshold")
    if not best.feasible:
        reasons.append(f"up to {nodes.most} nodes are not enough: rows wait, nothing is dropped")
    return EpochConfig(best.slots, best.nodes, best.use, best.feasible and calm, tuple(reasons))


def operator_stage(demands: Mapping[str, StageDemand], core_max: float) -> tuple[dict[str, int], bool]:
    """Return the fewest slots with which the stages take at most ``core_max`` of the time, and whether they do.

    >>> operator_stage({"split": StageDemand(0.4), "count": StageDemand(0.9, level=1)}, 0.65)
    ({'split': 2, 'count': 2}, True)
    """
    slots = {name: demand.least for name, demand in demands.items()}
    while True:
        share, gains = _stage_gains(demands, slots)
        if share <= core_max:
            return slots, True
        if not gains:
            return slots, False
        slots[max(gains, key=lambda name: gains[name])] += 1


def _stage_gains(demands: Mapping[str, StageDemand], slots: Mapping[str, int]) -> tuple[float, dict[str, float]]:
    """Return the share of time of all stages, and by how much one more slot of an operator eases its stage."""
    longest: dict[int, float] = {}
    for name, demand in demands.items():
        longest[demand.level] = max(longest.get(demand.level, 0.0), demand.busiest(slots[name]))
    gains = {}
    for name, demand in demands.items():
        now = demand.busiest(slots[name])
        eased = now - demand.busiest(slots[name] + 1)
        if slots[name] < demand.most and eased > 0 and now >= longest[demand.level]:
            gains[name] = eased
    return sum(longest.values()), gains


def whole_waves(slots: int, cores: int, most: int) -> int:
    """Return the number of slots rounded up to whole turns of the cores, if they need more than one.

    >>> whole_waves(4, 3, most=16), whole_waves(2, 3, most=16), whole_waves(4, 3, most=5)
    (6, 2, 4)
    """
    rounded = -(-slots // cores) * cores
    return rounded if slots > cores and rounded <= most else slots


def stages_share(demands: Mapping[str, StageDemand], slots: Mapping[str, int], cores: int) -> float:
    """Return the share of time that all stages take on some cores: of each, the time of its fullest core.

    >>> [round(stages_share({"sum": StageDemand(2.0)}, {"sum": slots}, cores=3), 2) for slots in (4, 6)]
    [1.0, 0.67]
    """
    levels: dict[int, list[float]] = {}
    for name, demand in demands.items():
        count, longest = slots[name], demand.busiest(slots[name])
        rest = (demand.work - longest) / (count - 1) if count > 1 else 0.0
        levels.setdefault(demand.level, []).extend([longest, *[max(rest, 0.0)] * (count - 1)])
    return sum(_longest_first(pieces, cores) for pieces in levels.values())


def _longest_first(pieces: list[float], cores: int) -> float:
    """Return the time of the fullest core if the longest pieces come first, each to the emptiest core."""
    heap = [0.0] * min(cores, len(pieces))
    for piece in sorted(pieces, reverse=True):
        heapq.heapreplace(heap, heap[0] + piece)
    return max(heap, default=0.0)
