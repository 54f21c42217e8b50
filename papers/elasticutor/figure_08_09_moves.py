"""Elasticutor's figures 8 and 9: how long it takes to move a shard (section 5.1).

A move takes synchronisation (pending rows are processed and senders learn the new place) and the transfer of state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from papers.claims import Claim
from papers.elasticutor.testbed.clusters import CENTRIC, ELASTIC, STOPPING, MicroRun
from papers.paper_run import Run
from papers.side_by_side import Bench
from rheostat.elastic.model.policy import Policy
from rheostat.elastic.policies import Elasticutor, ResourceCentric
from rheostat.simulate.job import Costs
from rheostat.simulate.simulation import Simulation

UPSTREAM, STATE = Costs().upstream, 32e3
MARKS = {ELASTIC: "s", CENTRIC: "D"}
BUSY, CALM = 0.6, 0.3
"""Load of the cores while shards move, and a lower load for comparison. The paper prints no load."""

LOAD = f"load of {BUSY:.0%}"


@dataclass(frozen=True)
class MoveTimes:
    """Mean seconds that parts of a move took; NaN if no shard moved.

    Attributes:
        sync: synchronisation of moves inside a node.
        state: transfer of state inside a node.
        far_sync: synchronisation of moves between nodes.
        far_state: transfer of state between nodes.
        both: synchronisation of all moves.
        protocol: the part of ``both`` that is the protocol itself, a constant of the simulator.
        count: number of shards that moved.
    """

    sync: float
    state: float
    far_sync: float
    far_state: float
    both: float
    protocol: float
    count: int

    @property
    def waiting(self) -> float:
        """The part of the synchronisation that is spent waiting for pending rows."""
        return self.both - self.protocol

    def parts(self) -> str:
        """Describe what the synchronisation consists of."""
        return f"{_seconds(self.waiting)} is waiting for pending rows and {_seconds(self.protocol)} the protocol"


Cases = Mapping[tuple[str, int, float, float], MoveTimes]
"""By approach, number of upstream executors, bytes of a shard's state, and load."""


def moves(each: MicroRun) -> MoveTimes:
    """Return how long moves took after the warm-up."""
    engine = each.engine
    Simulation(engine, each.policy).run(each.warm_up)
    before = engine.moved()
    Simulation(engine, each.policy).run(each.seconds)
    sums = {name: value - before[name] for name, value in engine.moved().items()}
    near, far = (sums[name] or np.nan for name in ("moves", "far_moves"))
    count = sums["moves"] + sums["far_moves"]
    sync, far_sync = sums["sync_seconds"] / near, sums["far_sync_seconds"] / far
    elastic = isinstance(each.policy, Elasticutor)
    return MoveTimes(
        sync=sync,
        state=sums["move_seconds"] / near - sync,
        far_sync=far_sync,
        far_state=sums["far_seconds"] / far - far_sync,
        both=(sums["sync_seconds"] + sums["far_sync_seconds"]) / (count or np.nan),
        protocol=Costs().shard_sync if elastic else Costs().operator_sync * each.upstream,
        count=int(count),
    )


def reproduce(bench: Bench) -> list[Claim]:
    """Draw both figures and return their claims."""
    run = bench.run
    upstream = (1, 32, 128) if run.quick else (1, 4, 16, 32, 64, 128, 256)
    sizes = (STATE, 32e6) if run.quick else (STATE, 320e3, 3.2e6, 32e6)
    both: dict[str, Policy] = {ELASTIC: Elasticutor.published(), CENTRIC: ResourceCentric.published()}
    nodes, seconds = (4, 40.0) if run.quick else (8, 120.0)
    settings = [(u, STATE, BUSY) for u in upstream] + [(UPSTREAM, s, BUSY) for s in sizes if s != STATE]
    cases = [(name, *setting) for name in both for setting in [*settings, (UPSTREAM, STATE, CALM)]]
    usual = MicroRun(
        Elasticutor.published(),
        nodes,
        omega=4.0,
        seconds=seconds,
        warm_up=10.0,
        executors=nodes // 2,
        patience=np.inf,
        spread=True,
        seed=run.seed,
    )
    runs = [replace(usual, policy=both[name], upstream=u, state=s, load=load) for name, u, s, load in cases]
    found = dict(zip(cases, bench.each("figures 8 and 9: moving shards", moves, runs), strict=True))
    _draw(run, found, upstream, sizes)
    header = ["policy", "upstream executors", "bytes of a shard", "load", "moves"]
    header += ["sync s in a node", "state s in a node", "sync s between nodes", "state s between nodes", "waiting s"]
    rows = [(*case, m.count, m.sync, m.state, m.far_sync, m.far_state, m.waiting) for case, m in found.items()]
    run.table("fig08", header, [row for row in rows if row[1:4] == (UPSTREAM, STATE, BUSY)])
    run.table("fig09", header, rows)
    return claims(found, upstream, sizes)


def claims(found: Cases, upstream: Sequence[int], sizes: Sequence[float]) -> list[Claim]:
    """Return the section's claims about both figures.

    Args:
        found: what was measured.
        upstream: numbers of upstream executors, rising.
        sizes: bytes of a shard's state, rising.
    """
    near, calm = ({n: found[n, UPSTREAM, STATE, load] for n in (ELASTIC, CENTRIC)} for load in (BUSY, CALM))
    ratio, calmer = (m[CENTRIC].both / max(m[ELASTIC].both, 1e-9) for m in (near, calm))
    few, many = ({n: found[n, u, STATE, BUSY] for n in near} for u in (upstream[0], upstream[-1]))
    grown = few[ELASTIC].both, many[ELASTIC].both
    far = {(n, s): found[n, UPSTREAM, s, BUSY].far_state for n in near for s in sizes}
    close = float(np.nanmax([found[n, UPSTREAM, s, BUSY].state for n in near for s in sizes]))
    compared = [s for s in sizes if far[ELASTIC, s] >= 0 and far[CENTRIC, s] >= 0]
    small, large = sizes[0], sizes[-1]
    why = (
        f"Shards leave the busiest slots, and at {BUSY:.0%} load these have long queues after a shuffle. Of "
        f"Elasticutor's {_seconds(near[ELASTIC].both)}, {near[ELASTIC].parts()}; the latter is the paper's figure and "
        f"not measured here. The paper prints no load. At {CALM:.0%} load, the resource-centric approach takes "
        f"{calmer:.0f} x as long ({_seconds(calm[CENTRIC].both)} and {_seconds(calm[ELASTIC].both)})."
    )
    return [
        Claim(
            "fig8-sync",
            "to move a shard, the resource-centric approach synchronises for at least 100 x as long as Elasticutor",
            "2-3 orders of magnitude",
            f"{ratio:.0f} x ({_seconds(near[CENTRIC].both)} and {_seconds(near[ELASTIC].both)})",
            ratio >= 100,
            f"At {BUSY:.0%} load, shards leave slots with long queues. At {CALM:.0%} load it is {calmer:.0f} x.",
            chosen=f"{LOAD}; {STOPPING}",
            detail=why,
        ),
        Claim(
            "fig8-state",
            "Elasticutor and the resource-centric approach differ much less in the time to transfer state than in the "
            "time to synchronise",
            "minor",
            f"{_seconds(abs(far[CENTRIC, small] - far[ELASTIC, small]))} against "
            f"{_seconds(near[CENTRIC].far_sync - near[ELASTIC].far_sync)}, between nodes",
            abs(far[CENTRIC, small] - far[ELASTIC, small]) < 0.1 * (near[CENTRIC].far_sync - near[ELASTIC].far_sync),
            chosen=f"{LOAD}; {STOPPING}",
        ),
        Claim(
            "fig9a-elasticutor",
            "Elasticutor synchronises within 20 ms, however many executors are upstream",
            "about 2 ms",
            f"{_seconds(grown[0])} with {upstream[0]}, {_seconds(grown[1])} with {upstream[-1]}",
            max(grown) < 0.02 and max(grown) < 1.5 * min(grown),
            f"Most of it is waiting for pending rows. At {CALM:.0%} load it is {_seconds(calm[ELASTIC].both)}.",
            chosen=f"{LOAD}; 2 ms for the protocol, the paper's figure",
            detail=why,
        ),
        Claim(
            "fig9a-resource-centric",
            "the resource-centric approach synchronises for longer, the more executors are upstream",
            "grows significantly",
            f"{_seconds(few[CENTRIC].both)} with {upstream[0]}, {_seconds(many[CENTRIC].both)} with {upstream[-1]}",
            many[CENTRIC].both > 2 * few[CENTRIC].both,
            chosen=f"{LOAD}; {STOPPING}",
            built_in="the simulated approach stops upstream executors one after the other",
        ),
        Claim(
            "fig9b-near",
            "inside a node, the transfer of state takes less than 1 ms",
            "negligible",
            f"at most {close * 1e3:.2f} ms",
            close < 1e-3,
            built_in="a move inside a node transfers nothing in the simulator",
        ),
        Claim(
            "fig9b-far",
            "between nodes, the transfer of 32 MB of state takes at least 10 x as long as that of 32 KB",
            "increases significantly",
            f"{_seconds(far[ELASTIC, small])} with 32 KB, {_seconds(far[ELASTIC, large])} with 32 MB",
            far[ELASTIC, large] > 10 * far[ELASTIC, small],
        ),
        Claim(
            "fig9b-faster",
            "between nodes, Elasticutor transfers the state of a shard faster than the resource-centric approach",
            "slightly shorter",
            "; ".join(
                f"{_seconds(far[ELASTIC, s])} against {_seconds(far[CENTRIC, s])} with {_bytes(s)}" for s in compared
            ),
            bool(compared) and all(far[ELASTIC, s] < far[CENTRIC, s] for s in compared),
            "One shard alone takes equally long in both. The resource-centric approach sends all shards of a plan at "
            "once, and their transfers wait for each other.",
            detail="Sizes are left out if the first plan of the resource-centric approach takes longer than the run.",
        ),
    ]


def _draw(run: Run, found: Cases, upstream: Sequence[int], sizes: Sequence[float]) -> None:
    names = (ELASTIC, CENTRIC)
    with run.figure("fig08", "Time to move a shard of 32 KB") as axes:
        places = np.arange(4)
        moved = [found[n, UPSTREAM, STATE, BUSY] for n in names]
        sync = np.array([(m.sync, m.far_sync) for m in moved]).ravel() * 1e3
        state = np.array([(m.state, m.far_state) for m in moved]).ravel() * 1e3
        axes[0, 0].bar(places, sync, label="synchronisation")
        axes[0, 0].bar(places, state, bottom=sync, label="state")
        labels = [f"{n}\n{where}" for n in names for where in ("in a node", "between nodes")]
        axes[0, 0].set_xticks(places, labels, fontsize=7)
        axes[0, 0].set(ylabel="milliseconds", yscale="log")
        axes[0, 0].legend()
    with run.figure("fig09", "Synchronisation by upstream executors, migration by size of state", columns=2) as axes:
        for name in names:
            waits = [found[name, u, STATE, BUSY].both * 1e3 for u in upstream]
            axes[0, 0].plot(upstream, waits, marker="o", label=name)
            seen = [found[name, UPSTREAM, s, BUSY] for s in sizes]
            kilobytes = np.array(sizes) / 1e3
            far, near = [m.far_state * 1e3 for m in seen], [m.state * 1e3 for m in seen]
            (line,) = axes[0, 1].plot(kilobytes, far, marker="o", label=f"{name}, between nodes")
            style = {"marker": MARKS[name], "ls": "--", "color": line.get_color(), "fillstyle": "none"}
            axes[0, 1].plot(kilobytes, near, label=f"{name}, in a node", **style)
        axes[0, 0].set(xlabel="upstream executors", ylabel="synchronisation (ms)", xscale="log", yscale="log")
        axes[0, 1].set(xlabel="state of a shard (KB)", ylabel="migration (ms)", xscale="log")
        axes[0, 1].set_yscale("symlog", linthresh=0.1)  # 0 inside a node
        axes[0, 1].set_ylim(bottom=-0.05)
        axes[0, 0].legend()
        axes[0, 1].legend(fontsize=7, loc="upper left")


def _seconds(value: float) -> str:
    """Format seconds as s or ms.

    >>> _seconds(1.234), _seconds(0.0356)
    ('1.23 s', '35.6 ms')
    """
    return f"{value:.2f} s" if abs(value) >= 1 else f"{value * 1e3:.1f} ms"


def _bytes(size: float) -> str:
    return f"{size / 1e6:g} MB" if size >= 1e6 else f"{size / 1e3:g} KB"
