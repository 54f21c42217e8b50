"""Memory and bandwidth beside CPU, which ELYSIUM's paper leaves to future work (sections 2 and 7)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from papers.claims import Claim, addition
from papers.elysium.testbed.cluster import ClusterBehaviour, StormCluster
from papers.elysium.testbed.lab import PEAKS, Lab
from papers.elysium.testbed.metric_store import BANDWIDTH, MEMORY, MetricStore
from papers.elysium.testbed.monitor import monitor_run
from papers.elysium.testbed.topologies import NODE
from rheostat.elastic.elysium.allocator import RoundRobinAllocator
from rheostat.elastic.elysium.config_search import Bounds, compute_config
from rheostat.elastic.elysium.configuration import Config, NodeType
from rheostat.elastic.elysium.estimator import Estimator

MEMORY_GIB = 4.0
MACHINE = replace(NODE, memory=MEMORY_GIB * 2**30, bandwidth=125e6)
"""The paper's machine with its 4 GB of memory. The paper says nothing about the network; 1 Gbit/s is assumed."""

SLOW = replace(NODE, bandwidth=8e6 / 8)
"""A machine with a network of 8 Mbit/s, slow enough to decide how many nodes are needed."""

MEMORY_LIMIT = 0.8 * MEMORY_GIB
"""GiB of a node's memory that may be used."""

Row = tuple[str, float, int, int, int]
"""A topology, its rows per second, and the nodes it needs by CPU only, with memory, and with a slow network."""


@dataclass(frozen=True)
class NodePeaks:
    """Use of the fullest node in a run.

    Attributes:
        memory: in bytes.
        bandwidth: in bytes per second.
    """

    memory: float
    bandwidth: float


def resources(lab: Lab) -> list[Claim]:
    """Compute how many nodes are needed with memory and bandwidth in the model, and check that in the simulation."""
    machines: dict[str, NodeType] = {"CPU": NODE, "memory": MACHINE, "slow network": SLOW}
    estimators = {name: replace(lab.estimator, node=machine) for name, machine in machines.items()}
    shares = np.linspace(0.05, 1.0, 20)
    rows: list[Row] = []
    for topology, peak in PEAKS.items():
        for share in shares:
            load = {topology: float(share * peak)}
            by_cpu, by_memory, by_network = (
                compute_config(e, load, Bounds(8)).config.nodes for e in estimators.values()
            )
            rows.append((topology, round(load[topology], 1), by_cpu, by_memory, by_network))
    lab.run.table("resources", ("topology", "rows per second", *(f"nodes, {name}" for name in machines)), rows)
    _draw(lab, rows, tuple(machines))
    memory_decides = sum(by_memory > by_cpu for _, _, by_cpu, by_memory, _ in rows)
    return [_memory(lab, estimators["memory"], memory_decides), _estimates(lab, estimators["memory"])]


def _memory(lab: Lab, estimator: Estimator, memory_decides: int) -> Claim:
    """Compare plans with and without memory in the model; at ``memory_decides`` of 40 loads they need other nodes."""
    load = 0.3 * PEAKS["T2"]
    cpu_only, with_memory = (compute_config(e, {"T2": load}).config for e in (lab.estimator, estimator))
    cpu_only_gib, with_memory_gib = (
        _measure(lab, "T2", config, load).memory / 2**30 for config in (cpu_only, with_memory)
    )
    return addition(
        "memory-decides",
        f"T2 at {load:.0f} rows/s: if only CPU counts, a node needs more memory than it may use; with memory in the "
        "model, more nodes are used and none exceeds the limit",
        f"{cpu_only.nodes} node by CPU, {with_memory.nodes} with memory; the fullest node holds {cpu_only_gib:.1f} GiB "
        f"and {with_memory_gib:.1f} GiB, of {MEMORY_GIB:g} GiB of which 80 % may be used",
        with_memory.nodes > cpu_only.nodes and cpu_only_gib > MEMORY_LIMIT >= with_memory_gib,
        "The paper leaves memory to future work; 4 GiB is the memory of its machines.",
        chosen="memory of slots (1.2 GiB for PosTagger), set so that it decides the number of nodes",
        detail="The memory of slots is learned from readings of the profiling phase, and measured again in a run with "
        f"each plan. With memory, more nodes are needed than by CPU at {memory_decides} of 40 loads (resources.csv).",
    )


def _estimates(lab: Lab, estimator: Estimator) -> Claim:
    """Compare estimates with readings, on configurations that were not profiled."""
    worst: dict[str, float] = {}
    for topology, peak in PEAKS.items():
        for share in (0.2, 0.5, 0.8):
            load = share * peak
            config = replace(lab.first({topology: load}), nodes=3)
            real = _measure(lab, topology, config, load)
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
        "memory and bandwidth of the fullest node are estimated from the input load with an error below 5 %",
        ", ".join(f"{name} at most {100 * error:.1f} %" for name, error in worst.items()),
        max(worst.values()) < 0.05,
        "The paper leaves both to future work. Measured on three nodes, at loads that were not profiled.",
        detail="The bandwidth of T1 is harder to estimate. Every slot of its Counter sends rows periodically, whatever "
        "it receives, so its mean selectivity (Table 2) says little about the rows it sends at one load. These rows "
        "cost hardly any CPU, but they do cost bandwidth.",
    )


def _measure(lab: Lab, topology: str, config: Config, load: float) -> NodePeaks:
    """Run a configuration for three minutes and return the use of its fullest node, as the median over time."""
    rng = np.random.default_rng(lab.run.seed + 200)
    cluster = StormCluster({topology: lab.models[topology]}, config, ClusterBehaviour(), rng)
    with MetricStore() as store:
        store.record(monitor_run(cluster, cluster.run(np.full((180, 1), load)), 0.0, rng, ClusterBehaviour().noise))
        return NodePeaks(
            *(
                float(np.median(store.node_uses(resource).used.reshape(-1, config.nodes), axis=0).max())
                for resource in (MEMORY, BANDWIDTH)
            )
        )


def _draw(lab: Lab, rows: list[Row], names: tuple[str, ...]) -> None:
    with lab.run.figure("resources", "Nodes needed, by the resources in the model", columns=2) as axes:
        for column, topology in enumerate(PEAKS):
            own_rows = [row for row in rows if row[0] == topology]
            for index, name in enumerate(names, start=2):
                axes[0, column].step([r[1] for r in own_rows], [r[index] for r in own_rows], where="post", label=name)
            axes[0, column].set(title=topology, xlabel="rows per second", ylabel="nodes")
        axes[0, 0].legend()
