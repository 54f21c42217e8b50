"""Enorm's future work (section 8), tried: fusing only the busiest instances, and fusing again as traffic changes."""

from __future__ import annotations

import numpy as np

from papers.claims import Claim, addition
from papers.enorm.testbed.instances import fuse_instances
from papers.enorm.testbed.random_jobs import large_job
from papers.enorm.testbed.refusion import Patience, Watch, moved_operators, observe
from papers.paper_run import Run
from rheostat.planning.enorm.fusion import FusedComponent, fuse, inter_component_traffic, score_by_rate

_INSTANCES, _VALUES, _FEW = 60, 8, 20
_SHIFTS = 3


def reproduce(run: Run) -> list[Claim]:
    """Draw both figures and return our statements."""
    return [_instances(run), _following(run)]


def _instances(run: Run) -> Claim:
    """Fuse single instances of two operators that exchange uneven traffic."""
    rng = np.random.default_rng(run.seed)
    weights = rng.permutation(1 / np.arange(1, _INSTANCES**2 + 1)).reshape(_INSTANCES, _INSTANCES)
    weights /= weights.sum()
    traffic = {(("a", i), ("b", j)): float(weights[i, j]) for i in range(_INSTANCES) for j in range(_INSTANCES)}
    # The work of an instance is proportional to the rows it sends or receives. The sum of all work is 1.
    loads = {("a", i): float(v) / 2 for i, v in enumerate(weights.sum(axis=1))}
    loads |= {("b", j): float(v) / 2 for j, v in enumerate(weights.sum(axis=0))}
    # If whole operators are fused, both must be partitioned by an attribute that has few values.
    value = rng.integers(_VALUES, size=_INSTANCES)
    whole = float(np.bincount(value, weights.sum(axis=1), _VALUES).max())
    pairs = np.sort(weights, axis=None)[::-1]
    considered = (0, 5, 10, _FEW, 30, 40, 60, 80, 160, len(pairs) - 1)
    found = [fuse_instances(traffic, loads, whole, float(pairs[n])) for n in considered]
    local, largest = [f.local for f in found], [f.largest for f in found]
    tied = [sum(map(len, f.groups)) / (2 * _INSTANCES) for f in found]
    rows = [*zip(considered, tied, local, largest, strict=True), ("whole operators", 1.0, 1.0, whole)]
    run.table("future-instances", ("busiest pairs", "instances tied", "traffic local", "largest place"), rows)
    with run.figure("future-instances", "Fusing only instances that talk much") as axes:
        for values, label in ((local, "traffic local"), (largest, "work of the largest place")):
            axes[0, 0].plot([t * 100 for t in tied], [v * 100 for v in values], marker="o", ms=3, label=label)
        axes[0, 0].plot([100], [whole * 100], "s", color="0.5", label="the same, whole operators fused")
        axes[0, 0].set(xlabel="instances tied to another (%)", ylabel="%", ylim=(0, 105))
        axes[0, 0].legend(fontsize=7)
    few, every = considered.index(_FEW), len(considered) - 1
    return addition(
        "future-instances",
        "if traffic is uneven, fusing at most a third of the instances makes more than half as much traffic local as "
        "fusing all that fit, and the busiest place has less work",
        f"{tied[few]:.0%} of instances fused make {local[few]:.0%} of traffic local, {tied[every]:.0%} make "
        f"{local[every]:.0%}; the busiest place has {largest[few]:.0%} and {largest[every]:.0%} of the work",
        local[few] > local[every] / 2 and tied[few] <= 1 / 3 and largest[few] < largest[every],
        f"No place may have more work than the busiest place if whole operators are fused ({whole:.0%}).",
        chosen=f"two operators of {_INSTANCES} instances; traffic by Zipf's law with exponent 1.0; {_VALUES} values "
        "of the shared attribute",
        paper="proposed, not measured",
    )


def _following(run: Run) -> Claim:
    """Fuse again while noisy traffic changes for good a few times."""
    operators, each = (30, 20) if run.quick else (50, 60)
    rng = np.random.default_rng(run.seed)
    job = large_job(operators, rng)
    attributes, edges, rates = job.attributes, list(job.rates), list(job.rates.values())
    phases = [dict(zip(edges, rng.permutation(rates).tolist(), strict=True)) for _ in range(_SHIFTS)]
    fixed = fuse(attributes, phases[0], score_by_rate(phases[0]))
    eager, watch = list(fixed), Watch(tuple(fixed))
    patience = Patience()
    local: dict[str, list[float]] = {"never": [], "at every observation": [], "with patience": []}
    moved = dict.fromkeys(local, 0)
    for step in run.each("traffic that changes", range(each * _SHIFTS)):
        now = {e: v * float(rng.lognormal(0, 0.5)) for e, v in phases[step // each].items()}
        plans: tuple[list[FusedComponent], ...] = (fixed, eager, list(watch.components))
        for name, plan in zip(local, plans, strict=True):
            local[name].append(100 * inter_component_traffic(plan, now) / sum(now.values()))
        fresh = fuse(attributes, now, score_by_rate(now))
        after = observe(watch, attributes, now, patience)
        moved["at every observation"] += len(moved_operators(eager, fresh))
        moved["with patience"] += len(moved_operators(watch.components, after.components))
        eager, watch = fresh, after
    run.table(
        "future-traffic", ("planned anew", "traffic between components (%)", "operators moved"),
        [(n, np.mean(v), moved[n]) for n, v in local.items()],
    )  # fmt: skip
    with run.figure("future-traffic", "Traffic between components while it changes", width=6.4) as axes:
        for name, values in local.items():
            axes[0, 0].plot(values, lw=1, label=name)
        axes[0, 0].set(xlabel="observations", ylabel="traffic between components (%)", ylim=(0, 100))
        axes[0, 0].legend()
    moves = list(moved.values())
    never, always, patient = (float(np.mean(v)) for v in local.values())
    return addition(
        "future-traffic",
        "fusing again with patience leaves less traffic between components than never fusing again, and moves less "
        "than half as many operators as fusing again at every observation",
        f"{never:.0f}% of traffic if never, {always:.0f}% at every observation ({moves[1]} operators moved), "
        f"{patient:.0f}% with patience ({moves[2]} moved)",
        patient < never and moves[2] < moves[1] / 2,
        "With patience, a plan changes only if the gain is large enough, lasts, and pays for the state that moves.",
        chosen=f"{operators} operators; traffic redistributed {_SHIFTS - 1} times; noise of 50%",
        paper="proposed, not measured",
    )
