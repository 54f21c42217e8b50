"""Elasticutor's figure 12: one executor with much state while keys are shuffled (section 5.2)."""

from __future__ import annotations

from collections.abc import Mapping

from papers.claims import Claim
from papers.elasticutor.testbed.clusters import SHARDS
from papers.elasticutor.testbed.one_executor import OneExecutor, Scaled
from papers.paper_run import Run
from papers.side_by_side import Bench


def reproduce(bench: Bench) -> list[Claim]:
    """Draw the figure and return its claims."""
    run = bench.run
    counts = (8, 32) if run.quick else (8, 16, 32, 64, 128, 256)
    states = (32e3, 32e6) if run.quick else (32e3, 320e3, 3.2e6, 32e6)
    seconds = 40.0 if run.quick else 80.0
    cases = [(omega, state, cores) for omega in (2, 16) for state in states for cores in counts]
    ones = [OneExecutor(cores, run.seed, seconds, state=state, omega=omega) for omega, state, cores in cases]
    found = dict(zip(cases, bench.each("figure 12: state and shifts", OneExecutor.scaled, ones), strict=True))
    _draw(run, found, states, counts)
    rows = [(*case, round(s.throughput), round(s.moves, 1), round(s.transfer, 4)) for case, s in found.items()]
    header = ("shuffles per minute", "bytes of a shard", "cores", "rows per second")
    run.table("fig12", (*header, "shards between nodes per shuffle", "transfer s"), rows)
    return claims(found, states, counts[-1])


def claims(found: Mapping[tuple[int, float, int], Scaled], states: tuple[float, ...], most: int) -> list[Claim]:
    """Return the section's claims about the figure.

    Args:
        found: by shuffles per minute, bytes of state per shard, and cores.
        states: the sizes of state that were run, rising.
        most: the largest number of cores that was run.
    """
    rows = {case: scaled.throughput for case, scaled in found.items()}
    small = min(rows[o, s, most] / rows[o, states[0], most] for o in (2, 16) for s in states[:-1])
    large = {omega: rows[omega, states[-1], most] / rows[omega, states[0], most] for omega in (2, 16)}
    slow, fast = found[2, states[-1], most], found[16, states[-1], most]
    return [
        Claim(
            "fig12-small",
            "with less than 32 MB of state per shard, a single executor keeps at least 70% of the throughput that it "
            "has with 32 KB",
            "scales efficiently",
            f"at least {small:.0%}, on {most} cores",
            small >= 0.7,
        ),
        Claim(
            "fig12-large",
            "with 32 MB of state per shard, a single executor loses more than 10% of the throughput that it has with "
            "32 KB, and more if keys are shuffled more often",
            "decreases considerably",
            f"{large[2]:.0%} is left at 2 shuffles a minute, {large[16]:.0%} at 16",
            large[2] < 0.9 and large[16] < large[2],
            f"Balancing moves few of the {SHARDS:,} shards: {slow.moves:.0f} per shuffle at 2 shuffles a minute, "
            f"{fast.moves:.0f} at 16.",
            detail=f"A transfer takes {slow.transfer:.1f} s and {fast.transfer:.1f} s, including the wait for other "
            "transfers. Meanwhile the other shards go on, until the rows that are held for moving shards fill the "
            "queues. So a shuffle costs a few seconds, of 30 at 2 shuffles a minute and of 4 at 16. State and rows do "
            "not share the network in the simulator, but rows would take no more than a fifth of it even on the "
            "executor's own node.",
        ),
    ]


def _draw(
    run: Run, found: Mapping[tuple[int, float, int], Scaled], states: tuple[float, ...], counts: tuple[int, ...]
) -> None:
    with run.figure("fig12", "Throughput of one executor by state of a shard", columns=2) as axes:
        for column, omega in enumerate((2, 16)):
            for state in states:
                drawn = [found[omega, state, n].throughput / 1e3 for n in counts]
                axes[0, column].plot(counts, drawn, marker="o", label=f"{state / 1e3:g} KB a shard")
            axes[0, column].set(xlabel="cores", ylabel="thousand rows/s", xscale="log", yscale="log")
            axes[0, column].set_title(f"{omega} shuffles a minute", fontsize=9)
            axes[0, column].legend(fontsize=7)
