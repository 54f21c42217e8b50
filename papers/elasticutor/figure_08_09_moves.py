"""Elasticutor's figures 8 and 9: what moving a shard costs (section 5.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from papers.claims import Claim
from papers.elasticutor.testbed.clusters import STOPPING, MicroRun
from papers.paper_run import Run
from papers.side_by_side import Bench
from rheostat.elastic.model.policy import Policy
from rheostat.elastic.policies import Elasticutor, ResourceCentric
from rheostat.simulate.job import Costs
from rheostat.simulate.simulation import Simulation

ELASTIC, CENTRIC = "elasticutor", "resource-centric"
UPSTREAM, STATE = Costs().upstream, 32e3
MARKS = {ELASTIC: "s", CENTRIC: "D"}
BUSY, CALM = 0.6, 0.3
"""Load of the cores while shards move, and a lower one beside it. The paper prints none."""


@dataclass(frozen=True)
class MoveTimes:
    """Mean seconds of the shards that moved; NaN if none did.

    Attributes:
        sync: until the pending rows were done and everybody knew, inside a node.
        state: until the state was there, inside a node.
        far_sync: like ``sync``, between nodes.
        far_state: like ``state``, between nodes.
        both: synchronisation over all moves.
        protocol: what of it is not rows that are waited for.
        count: how many moved.
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
        """Seconds of the synchronisation that go by until pending rows are done."""
        return self.both - self.protocol

    def parts(self) -> str:
        """In words."""
        return f"{_seconds(self.waiting)} until pending rows are done, {_seconds(self.protocol)} the protocol"


Found = Mapping[tuple[str, int, float, float], MoveTimes]
"""By approach, upstream executors, bytes of a shard's state, and load."""


def moves(each: MicroRun) -> MoveTimes:
    """What moving took, after the warm-up."""
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
        sync,
        sums["move_seconds"] / near - sync,
        far_sync,
        sums["far_seconds"] / far - far_sync,
        (sums["sync_seconds"] + sums["far_sync_seconds"]) / (count or np.nan),
        Costs().shard_sync if elastic else Costs().operator_sync * each.upstream,
        int(count),
    )


def reproduce(bench: Bench) -> list[Claim]:
    """Figures 8 and 9: how long it takes to move a shard."""
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
    return judged(found, upstream, sizes)


def judged(found: Found, upstream: Sequence[int], sizes: Sequence[float]) -> list[Claim]:
    """What the section says of figures 8 and 9, of what was measured."""
    near, calm = ({n: found[n, UPSTREAM, STATE, load] for n in (ELASTIC, CENTRIC)} for load in (BUSY, CALM))
    ratio, calmer = (m[CENTRIC].both / max(m[ELASTIC].both, 1e-9) for m in (near, calm))
    few, many = ({n: found[n, u, STATE, BUSY] for n in near} for u in (upstream[0], upstream[-1]))
    grown = few[ELASTIC].both, many[ELASTIC].both
    far = {(n, s): found[n, UPSTREAM, s, BUSY].far_state for n in near for s in sizes}
    close = float(np.nanmax([found[n, UPSTREAM, s, BUSY].state for n in near for s in sizes]))
    compared = [s for s in sizes if far[ELASTIC, s] >= 0 and far[CENTRIC, s] >= 0]
    small, large = sizes[0], sizes[-1]
    why = (
        f"Shards leave the busiest slots, and at {BUSY:.0%} load these have long queues after a shuffle: of "
        f"Elasticutor's {_seconds(near[ELASTIC].both)}, {near[ELASTIC].parts()}, which is the paper's "
        f"figure and not measured here. The paper prints no load; at {CALM:.0%} it is {calmer:.0f} x "
        f"({_seconds(calm[CENTRIC].both)} and {_seconds(calm[ELASTIC].both)})."
    )
    return [
        Claim(
            "fig8-sync",
            "moving a shard takes the resource-centric approach far longer, because of synchronisation",
            "2-3 orders of magnitude",
            f"{ratio:.0f} x ({_seconds(near[CENTRIC].both)} and {_seconds(near[ELASTIC].both)})",
            ratio >= 100,
            f"At {BUSY:.0%} load shards leave slots with long queues; at {CALM:.0%} it is {calmer:.0f} x.",
            chosen=STOPPING,
            detail=why,
        ),
        Claim(
            "fig8-state",
            "the difference in moving state is minor compared to that in synchronisation",
            "minor",
            f"{_seconds(abs(far[CENTRIC, small] - far[ELASTIC, small]))} against "
            f"{_seconds(near[CENTRIC].far_sync - near[ELASTIC].far_sync)}, between nodes",
            abs(far[CENTRIC, small] - far[ELASTIC, small]) < 0.1 * (near[CENTRIC].far_sync - near[ELASTIC].far_sync),
            chosen=STOPPING,
        ),
        Claim(
            "fig9a-elasticutor",
            "Elasticutor's synchronisation takes milliseconds, whatever the number of upstream executors",
            "about 2 ms",
            f"{_seconds(grown[0])} with {upstream[0]}, {_seconds(grown[1])} with {upstream[-1]}",
            max(grown) < 0.02 and max(grown) < 1.5 * min(grown),
            f"Most of it is rows that are waited for; at {CALM:.0%} load it is {_seconds(calm[ELASTIC].both)}.",
            chosen="the protocol's 2 ms, which are the paper's",
            detail=why,
        ),
        Claim(
            "fig9a-resource-centric",
            "the resource-centric approach's synchronisation grows with the number of upstream executors",
            "grows significantly",
            f"{_seconds(few[CENTRIC].both)} with {upstream[0]}, {_seconds(many[CENTRIC].both)} with {upstream[-1]}",
            many[CENTRIC].both > 2 * few[CENTRIC].both,
            "It shows what follows from how long a stop takes, not that a stop takes so long.",
            chosen=STOPPING,
        ),
        Claim(
            "fig9b-near",
            "moving state inside a node costs nothing",
            "negligible",
            f"{close * 1e3:.2f} ms at most",
            close < 1e-3,
            chosen="no cost inside a node, in the simulator",
        ),
        Claim(
            "fig9b-far",
            "between nodes it is the transfer that counts once a shard has 32 MB",
            "increases significantly",
            f"{_seconds(far[ELASTIC, small])} with 32 KB, {_seconds(far[ELASTIC, large])} with 32 MB",
            far[ELASTIC, large] > 10 * far[ELASTIC, small],
        ),
        Claim(
            "fig9b-faster",
            "Elasticutor moves state between nodes a little faster than the resource-centric approach",
            "slightly shorter",
            "; ".join(
                f"{_seconds(far[ELASTIC, s])} against {_seconds(far[CENTRIC, s])} with {_bytes(s)}" for s in compared
            ),
            bool(compared) and all(far[ELASTIC, s] < far[CENTRIC, s] for s in compared),
            "A shard alone takes both as long; the resource-centric approach sends those of a plan at once.",
            detail="The resource-centric approach sends the state of all shards of a plan at once, so that they wait "
            "for each other. Sizes that are missing are those with which its first plan takes longer than the run.",
        ),
    ]


def _draw(run: Run, found: Found, upstream: Sequence[int], sizes: Sequence[float]) -> None:
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
        axes[0, 1].set_yscale("symlog", linthresh=0.1)  # nothing at all, inside a node
        axes[0, 1].set_ylim(bottom=-0.05)
        axes[0, 0].legend()
        axes[0, 1].legend(fontsize=7, loc="upper left")


def _seconds(value: float) -> str:
    """With a unit that suits it.

    >>> _seconds(1.234), _seconds(0.0356)
    ('1.23 s', '35.6 ms')
    """
    return f"{value:.2f} s" if abs(value) >= 1 else f"{value * 1e3:.1f} ms"


def _bytes(size: float) -> str:
    return f"{size / 1e6:g} MB" if size >= 1e6 else f"{size / 1e3:g} KB"
