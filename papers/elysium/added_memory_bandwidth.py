"""Memory and bandwidth beside CPU, which ELYSIUM leaves to future work (sections 2 and 7): no figure of the paper."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from papers.claims import Claim, addition
from papers.elysium.testbed.cluster import Habits, StormCluster
from papers.elysium.testbed.lab import PEAKS, Lab
from papers.elysium.testbed.metric_store import BANDWIDTH, MEMORY, MetricStore
from papers.elysium.testbed.monitor import batch
from papers.elysium.testbed.topologies import NODE
from rheostat.elastic.elysium.allocator import RoundRobinAllocator
from rheostat.elastic.elysium.config_search import Bounds, compute_config
from rheostat.elastic.elysium.configuration import Config, NodeType
from rheostat.elastic.elysium.estimator import Estimator

MACHINE = replace(NODE, memory=4.0 * 2**30, bandwidth=125e6)
"""The paper's machines have 4 GB of memory; of their network it says nothing, a gigabit per second is assumed."""

SLOW = replace(NODE, bandwidth=8e6 / 8)
"""A machine with 8 Mbit/s, so slow a network that it can decide."""


Row = tuple[str, float, int, int, int]
"""A topology, its load, and the nodes it needs by CPU, with memory, and with a slow network."""


@dataclass(frozen=True)
class NodePeaks:
    """The highest memory and bandwidth of a node that the metric store has of a run, in bytes and bytes per second."""

    memory: float
    bandwidth: float


def resources(lab: Lab) -> list[Claim]:
    """How many nodes memory and bandwidth ask for, and whether the simulated cluster agrees."""
    machines: dict[str, NodeType] = {"CPU": NODE, "memory": MACHINE, "slow network": SLOW}
    known = {name: replace(lab.estimator, node=machine) for name, machine in machines.items()}
    shares = np.linspace(0.05, 1.0, 20)
    rows: list[Row] = []
    for topology, peak in PEAKS.items():
        for share in shares:
            load = {topology: float(share * peak)}
            found = [compute_config(e, load, Bounds(8)) for e in known.values()]
            by_cpu, by_memory, by_network = (d.config.nodes for d in found)
            rows.append((topology, round(load[topology], 1), by_cpu, by_memory, by_network))
    lab.of.table("resources", ("topology", "rows per second", *(f"nodes, {name}" for name in machines)), rows)
    _draw(lab, rows, tuple(machines))
    decided = [row for row in rows if row[3] > row[2]]
    return [_memory(lab, known["memory"], decided), _estimates(lab, known["memory"])]


def _memory(lab: Lab, estimator: Estimator, decided: list[Row]) -> Claim:
    load = 0.3 * PEAKS["T2"]
    plain, aware = (compute_config(e, {"T2": load}).config for e in (lab.estimator, estimator))
    full, held = (_measured(lab, "T2", config, load).memory / 2**30 for config in (plain, aware))
    limit = 0.8 * 4.0
    return addition(
        "memory-decides",
        f"T2 at {load:.0f} rows/s: CPU alone would put all slots on fewer nodes than their memory fits on, and with "
        "memory in the model no node holds more than it may",
        f"{plain.nodes} node by CPU, {aware.nodes} with memory; the fullest node holds {full:.1f} GiB and {held:.1f} "
        f"GiB, of 4 GiB of which 80 % may be used",
        aware.nodes > plain.nodes and full > limit >= held,
        "The paper leaves memory to future work; the machines' memory is the paper's.",
        chosen="what slots keep in memory (1.2 GiB for PosTagger), so that it decides",
        detail="What slots keep is learned from the metric store and measured there again in a run with each plan. "
        f"Memory asks for more nodes than CPU at {len(decided)} of 40 loads (resources.csv).",
    )


def _estimates(lab: Lab, estimator: Estimator) -> Claim:
    """On configurations that were not profiled."""
    worst: dict[str, float] = {}
    for topology, peak in PEAKS.items():
        for share in (0.2, 0.5, 0.8):
            load = share * peak
            config = replace(lab.first({topology: load}), nodes=3)
            real = _measured(lab, topology, config, load)
            allocation = RoundRobinAllocator().allocate(config.parallelism, config.nodes, {})
            for resource, share_used, capacity, used in (
                (MEMORY, estimator.node_memory(allocation, {topology: load}), MACHINE.memory, real.memory),
                (BANDWIDTH, estimator.node_bandwidth(allocation, {topology: load}), MACHINE.bandwidth, real.bandwidth),
            ):
                assert share_used is not None
                assert capacity is not None
                error = abs(float(share_used.max()) * capacity / used - 1)
                name = f"{topology} {resource}"
                worst[name] = max(worst.get(name, 0.0), error)
    return addition(
        "memory-bandwidth-error",
        "the memory and the bandwidth of the fullest node are estimated from the input load within 5 %",
        ", ".join(f"{name} at most {100 * error:.1f} %" for name, error in worst.items()),
        max(worst.values()) < 0.05,
        "The paper leaves both to future work. On three nodes, at loads that were not profiled.",
        detail="T1's Counter sends periodically, whatever arrives and as often as it has slots: its mean selectivity "
        "(Table 2) says little about the rows it sends at one load, which hardly cost CPU but bandwidth.",
    )


def _measured(lab: Lab, topology: str, config: Config, load: float) -> NodePeaks:
    """Three minutes with a plan, and what the metric store has of it; the median over time of the fullest node."""
    rng = np.random.default_rng(lab.of.seed + 200)
    cluster = StormCluster({topology: lab.models[topology]}, config, Habits(), rng)
    with MetricStore() as store:
        store.record(batch(cluster, cluster.run(np.full((180, 1), load)), 0.0, rng, Habits().noise))
        return NodePeaks(
            *(
                float(np.median(store.node_uses(resource).used.reshape(-1, config.nodes), axis=0).max())
                for resource in (MEMORY, BANDWIDTH)
            )
        )


def _draw(lab: Lab, rows: list[Row], names: tuple[str, ...]) -> None:
    with lab.of.figure("resources", "Nodes needed, by what is looked at", columns=2) as axes:
        for column, topology in enumerate(PEAKS):
            mine = [row for row in rows if row[0] == topology]
            for index, name in enumerate(names, start=2):
                axes[0, column].step([r[1] for r in mine], [r[index] for r in mine], where="post", label=name)
            axes[0, column].set(title=topology, xlabel="rows per second", ylabel="nodes")
        axes[0, 0].legend()
