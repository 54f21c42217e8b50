"""Elasticutor's figure 12: one executor with much state, while keys shift (section 5.2)."""

from __future__ import annotations

from collections.abc import Mapping

from papers.claims import Claim
from papers.elasticutor.testbed.clusters import SHARDS
from papers.elasticutor.testbed.one_executor import OneExecutor, Scaled
from papers.paper_run import Run
from papers.side_by_side import Bench


def reproduce(bench: Bench) -> list[Claim]:
    """Figure 12: one executor with much state, while keys shift."""
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
    return judged(found, states, counts[-1])


def judged(found: Mapping[tuple[int, float, int], Scaled], states: tuple[float, ...], most: int) -> list[Claim]:
    """What the section says of figure 12, of what was measured."""
    rows = {case: scaled.throughput for case, scaled in found.items()}
    small = min(rows[o, s, most] / rows[o, states[0], most] for o in (2, 16) for s in states[:-1])
    large = {omega: rows[omega, states[-1], most] / rows[omega, states[0], most] for omega in (2, 16)}
    slow, fast = found[2, states[-1], most], found[16, states[-1], most]
    return [
        Claim(
            "fig12-small",
            "an executor scales out with any state but 32 MB a shard",
            "scales efficiently",
            f"{small:.0%} of the throughput with 32 KB, on {most} cores, at least",
            small >= 0.7,
        ),
        Claim(
            "fig12-large",
            "32 MB a shard keep it from using remote cores, the more so the faster keys shift",
            "decreases considerably",
            f"{large[2]:.0%} of the throughput with 32 KB at 2 shuffles a minute, {large[16]:.0%} at 16",
            large[2] < 0.9 and large[16] < large[2],
            f"Balancing moves few of the {SHARDS} shards, {slow.moves:.0f} per shuffle at 2 a minute and "
            f"{fast.moves:.0f} at 16.",
            detail=f"Each takes {slow.transfer:.1f} and {fast.transfer:.1f} s with the wait for the others; meanwhile "
            "the rest goes on until rows held for these fill up. So a shuffle costs a few seconds, of 30 at 2 a minute "
            "and of 4 at 16. State and rows do not share the network here, but rows would take no more than a fifth of "
            "it even at the executor's home.",
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
