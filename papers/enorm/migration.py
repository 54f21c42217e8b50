"""Enorm: what migrations cost (sections 7.2 to 7.5), simulated."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt

from papers.claims import Claim
from papers.enorm.cost_model import MINUTE, TUPLES, Engine, completion_time, simple_job, touched
from papers.enorm.exact import exact
from papers.enorm.hot_spots import CONFIGURATIONS, Configuration, Skew, simulate_pause, simulate_skew
from papers.run import Run
from rheostat.planning.enorm.migration import ShardState, Strategy, expanded_keys, migration_cost
from rheostat.planning.enorm.splitting import Form

KEYS = 50_000
"""Keys of a shard in section 7.5."""

LONGEST = 10 * MINUTE
"""The longest window of the simple job with two windows: what smooth migration may have to wait for."""

_SIZES = (1_000, 5_000, 10_000, 25_000, 50_000, 100_000, 200_000)
_SHARDS = 60
_SIMILAR = 1.5


def reproduce(run: Run) -> list[Claim]:
    """The figures and claims of these sections."""
    return [*_pauses(run), *_split_and_combine(run), _overhead(run), *_hot_spots(run), exact(run)]


def _pauses(run: Run) -> list[Claim]:
    """Figure 10: how long processing pauses, by the size of the state."""
    engine, seeds = Engine(), range(2 if run.quick else 10)
    strategies = (Strategy.DISRUPTIVE, Strategy.INSTANT)
    seen: dict[Strategy, list[float]] = {s: [] for s in strategies}
    for size in run.each("migration latency", _SIZES):
        for s in strategies:
            seen[s].append(float(np.mean([simulate_pause(s, size, engine, run.seed + i) for i in seeds])))
    idle = [migration_cost(Strategy.DISRUPTIVE, ShardState(size), engine.key_costs).pause for size in _SIZES]
    header = ("keys", *(f"{s} (s)" for s in seen), "disruptive by the cost model, idle nodes (s)")
    run.table("fig10", header, zip(_SIZES, *seen.values(), idle, strict=True))
    with run.figure("fig10", "Pause of a shard that moves, nodes loaded 70%") as axes:
        for strategy, values in seen.items():
            axes[0, 0].plot(_SIZES, values, marker="o", ms=3, label=strategy.value)
        axes[0, 0].plot(_SIZES, idle, ":", color="0.5", label="disruptive, idle nodes")
        axes[0, 0].set(xscale="log", yscale="log", xlabel="keys of the shard", ylabel="pause (s)")
        axes[0, 0].legend()
    slow, quick = seen[Strategy.DISRUPTIVE], seen[Strategy.INSTANT]
    factor = slow[_SIZES.index(KEYS)] / quick[_SIZES.index(KEYS)]
    return [
        Claim(
            "fig10-instant",
            "instant migration pauses processing negligibly, whatever the size of the state",
            "negligible",
            f"{quick[0] * 1e3:.0f} to {max(quick) * 1e3:.0f} ms",
            max(quick) < 0.1 and max(quick) < 2 * min(quick),
            f"The switch of the partitioner is set to {engine.switch * 1e3:.0f} ms, which is ours. Negligible: below "
            "100 ms.",
        ),
        Claim(
            "fig10-disruptive",
            "the pause of disruptive migration grows with the state",
            "grows",
            f"{slow[0]:.2f} s at {_SIZES[0]} keys to {slow[-1]:.1f} s at {_SIZES[-1]}",
            all(a < b for a, b in itertools.pairwise(slow)),
        ),
        Claim(
            "fig10-factor",
            f"at {KEYS} keys per shard, instant migration pauses at least ten times shorter",
            "a factor of ten (section 7.5)",
            f"{slow[_SIZES.index(KEYS)]:.2f} s and {quick[_SIZES.index(KEYS)] * 1e3:.0f} ms: {factor:.0f} times",
            factor >= 10,
            f"It would hold up to a switch of {slow[_SIZES.index(KEYS)] / 10 * 1e3:.0f} ms.",
        ),
    ]


def _split_and_combine(run: Run) -> list[Claim]:
    """Figure 11: latency and completion time of split and combine."""
    engine = Engine()
    ways = {
        "split, instant": Strategy.INSTANT,
        "combine, smooth": Strategy.SMOOTH,
        "combine, disruptive": Strategy.DISRUPTIVE,
    }
    costs = {
        name: [migration_cost(s, ShardState(size, remaining=LONGEST), engine.key_costs) for size in _SIZES]
        for name, s in ways.items()
    }
    header = ("keys", *(f"{name}: {what} (s)" for name in ways for what in ("latency", "completion")))
    rows = ((k, *(v for c in costs.values() for v in (c[i].pause, c[i].completion))) for i, k in enumerate(_SIZES))
    run.table("fig11", header, rows)
    with run.figure("fig11", "Split and combine, one shard", columns=2) as axes:
        for name, each in costs.items():
            axes[0, 0].plot(_SIZES, [c.pause for c in each], marker="o", ms=3, label=name)
            axes[0, 1].plot(_SIZES, [c.completion for c in each], marker="o", ms=3, label=name)
        axes[0, 0].set(xscale="log", xlabel="keys of the shard", ylabel="latency (s)")
        axes[0, 1].set(xscale="log", yscale="log", xlabel="keys of the shard", ylabel="completion time (s)")
        axes[0, 0].legend()
    split, smooth, moved = costs.values()
    return [
        Claim(
            "fig11-split",
            "split is always complete at once, with negligible latency",
            "very efficient",
            f"{max(c.completion for c in split) * 1e3:.0f} ms at most",
            all(s.completion < min(a.completion, b.completion) for s, a, b in zip(split, smooth, moved, strict=True)),
            "By the cost model, as the paper calculates this figure; the pause itself is simulated in figure 10.",
        ),
        Claim(
            "fig11-combine",
            "combine costs no latency if smooth, but up to the longest window to complete; latency by the state if "
            "disruptive",
            "no latency, long completion; latency relative to state",
            f"smooth 0 s, complete after {smooth[0].completion:.0f} s at most; disruptive {moved[0].pause:.2f} s to "
            f"{moved[-1].pause:.1f} s",
            all(c.pause == 0 for c in smooth) and moved[-1].pause > 10 * moved[0].pause,
        ),
    ]


def _overhead(run: Run) -> Claim:
    """Figure 12: by how much migrating a share of the state prolongs the whole processing."""
    shares = np.linspace(0, 1, 11)
    longer = {
        (keys, strategy): _longer(keys, strategy, shares)
        for keys in (KEYS // 10, KEYS)
        for strategy in (Strategy.DISRUPTIVE, Strategy.INSTANT)
    }
    header = ("share migrated", *(f"{strategy}, {keys} keys per shard" for keys, strategy in longer))
    run.table("fig12", header, zip(shares.round(1), *longer.values(), strict=True))
    with run.figure("fig12", "Extra time by share of the state migrated") as axes:
        for (keys, strategy), values in longer.items():
            line = "-" if strategy is Strategy.DISRUPTIVE else "--"
            label = f"{strategy}, {keys} keys per shard"
            axes[0, 0].plot(shares * 100, [v * 100 for v in values], line, marker="o", ms=3, label=label)
        axes[0, 0].set(xlabel="shards migrated (%)", ylabel="longer (%)", ylim=(0, None))
        axes[0, 0].legend(fontsize=7)
    few, many = (
        longer[keys, Strategy.INSTANT][-1] / longer[keys, Strategy.DISRUPTIVE][-1] for keys in (KEYS // 10, KEYS)
    )
    return Claim(
        "fig12-similar",
        "instant and disruptive migration prolong processing similarly",
        "similar",
        f"all shards migrated: instant takes {few:.2f} times the extra time of disruptive at {KEYS // 10} keys per "
        f"shard, {many:.2f} times at {KEYS}",
        all(1 / _SIMILAR < factor < _SIMILAR for factor in (few, many)),
        f"Similar: within a factor of {_SIMILAR}. The paper reckons one partial more for every key of the shard. But "
        "only keys with tuples both before and after the move, within the minute, have two partials: nearly all if a "
        f"key has {_rows_per_shard(KEYS // 10) / (KEYS // 10):.0f} tuples a minute, few if it has "
        f"{_rows_per_shard(KEYS) / KEYS:.1f}. Instant migration never costs more. The paper does not say how many keys "
        "there were in this experiment.",
    )


def _longer(keys: float, strategy: Strategy, shares: npt.NDArray[np.float64]) -> list[float]:
    """By which share the processing of 18 million tuples is prolonged if so many shards move, in mid-minute."""
    engine, plan, rows = Engine(), simple_job(5), _rows_per_shard(keys)
    sent = expanded_keys(keys, rows, 0.5) if strategy is Strategy.INSTANT else touched(keys, rows / 2)
    undisturbed = completion_time(engine, plan, Form.SPLIT, keys * _SHARDS)
    extra = shares * _SHARDS * sent * engine.per_key
    times = [completion_time(engine, plan, Form.SPLIT, keys * _SHARDS, extra=float(e)) for e in extra]
    return [time / undisturbed - 1 for time in times]


def _rows_per_shard(keys: float) -> float:
    """Tuples of a shard in a minute if the simple job runs as fast as it can."""
    return TUPLES / completion_time(Engine(), simple_job(5), Form.SPLIT, keys * _SHARDS) * MINUTE / _SHARDS


def _hot_spots(run: Run) -> list[Claim]:
    """Figure 13: latency while hot spots wander over the nodes."""
    engine = Engine()
    skew = Skew(nodes=2) if run.quick else Skew(nodes=6)
    beside = Configuration("instant, every minute", Strategy.INSTANT, 60.0)
    found = {}
    for c in run.each("hot spots", (*CONFIGURATIONS, beside)):
        found[c.name] = [simulate_skew(c, skew, engine, run.seed + i) for i in range(1 if run.quick else 3)]
    mean = {name: float(np.mean([r.overall for r in runs])) for name, runs in found.items()}
    p99 = {name: float(np.mean([r.p99 for r in runs])) for name, runs in found.items()}
    run.table(
        "fig13",
        ("configuration", "mean latency (s)", "99th percentile (s)", "longest (s)", "shards moved"),
        [(n, mean[n], p99[n], max(x.worst for x in r), np.mean([x.moves for x in r])) for n, r in found.items()],
    )
    with run.figure("fig13", "Latency while hot spots wander", width=6.4) as axes:
        for c in CONFIGURATIONS:
            values = found[c.name][0].mean[int(skew.calm) - 60 :]
            axes[0, 0].plot(np.arange(len(values)) / 60 - 1, values, lw=1, label=c.name)
        axes[0, 0].set(yscale="log", xlabel="minutes after the first change", ylabel="mean latency (s)")
        axes[0, 0].legend()
    five, one, _, instant = (c.name for c in CONFIGURATIONS)
    ratios = []
    for shards in (4, 20):
        each = Skew(nodes=skew.nodes, shards=shards)
        slow, quick = (simulate_skew(c, each, engine, run.seed).overall for c in CONFIGURATIONS[1::2])
        ratios.append(f"{slow / quick:.0f} with {shards}")
    own = 1 - mean[beside.name] / mean[one]
    setting = (
        f"{skew.shards} shards a node, rounds in the middle of a minute, one round a second for continuously, and "
        "half of a core for state that moves are ours."
    )
    return [
        Claim(
            "fig13-order",
            "disruptive migration every five minutes cannot keep up; every minute is better, instant migration best",
            "extensive latency; better; a factor of ten better",
            f"mean latency {mean[five]:.2f} s; {mean[one]:.2f} s; {mean[instant] * 1e3:.0f} ms",
            mean[five] > mean[one] > mean[instant] and mean[five] > 1.0,
            setting,
        ),
        Claim(
            "fig13-ten",
            f"at {KEYS} keys per shard, instant migration has a tenth of the latency of disruptive migration or less",
            "a factor of ten",
            f"mean {mean[one] / mean[instant]:.0f} times lower, 99th percentile {p99[one] / p99[instant]:.0f} times",
            mean[one] / mean[instant] >= 10,
            f"Beside disruptive migration every minute. Instant migration stays at the resolution of the simulation, "
            f"5 ms, so a real engine's own latency would lower the factor. By shards per node: {', '.join(ratios)}.",
        ),
        Claim(
            "fig13-own",
            "with disruptive migration every minute, latency comes mostly from the migrations themselves",
            "primarily",
            f"{own:.0%} of it is gone if the same moves need no state",
            own > 0.5,
            "Here most of it comes from the rounds being a minute apart. Flux moves one shard of a pair in each, 7% to "
            "10% of a core, while the load of the hot node rises by 12% of a core: it is overloaded between rounds "
            "even if moves are free.",
        ),
        Claim(
            "fig13-smooth",
            "smooth migration pauses nothing, but reacts later than instant migration",
            "not measured",
            f"mean latency {mean[CONFIGURATIONS[2].name]:.2f} s and {mean[instant] * 1e3:.0f} ms",
            mean[CONFIGURATIONS[2].name] > mean[instant],
            "Moves take effect with the next one-minute partial, half a minute after the decision.",
        ),
    ]
