"""``rheostat bench``: compare Rheostat with plain Spark on the same work, in one run.

A benchmark is in ``bench_<command>.py``, which is loaded only when the command runs; ``multiwindow`` shares the file of
``windows``.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from rich.console import Console
from rich.table import Table

from rheostat.cli.options import Json
from rheostat.errors import RheostatError

if TYPE_CHECKING:
    from benchmarks.bench_windows import WindowBench

app = typer.Typer(help="Compare Rheostat with plain Spark on the same work, in one run.", no_args_is_help=True)

Result = TypeVar("Result")

_WHOLE = 1_000
"""From here on, a figure is printed without decimals."""

_DIFFERENT = "the sides gave different results: the speeds mean nothing until they agree"


@app.command(epilog="Example: rheostat bench windows --rows 1000000 --overlap 60 --json")
def windows(
    rows: Annotated[int, typer.Option(help="Rows in eight files.", min=1_000)] = 4_000_000,
    overlap: Annotated[int, typer.Option(help="Windows that each row belongs to: 1, 12 or 60.")] = 60,
    minutes: Annotated[int, typer.Option(help="Minutes of event time that the rows span.", min=8)] = 240,
    as_json: Json = False,
) -> None:
    """Count, sum and max over overlapping windows (10,000 keys, Zipf 1.0), against Spark's windows."""
    from benchmarks.bench_windows import OVERLAPS, overlap_bench  # noqa: PLC0415

    if overlap not in OVERLAPS:
        raise typer.BadParameter(f"choose one of {', '.join(map(str, OVERLAPS))}", param_hint="--overlap")
    _compare(overlap_bench(overlap, rows, minutes), as_json)


@app.command(epilog="Example: rheostat bench multiwindow --rows 1000000 --json")
def multiwindow(
    rows: Annotated[int, typer.Option(help="Rows in eight files.", min=1_000)] = 4_000_000,
    minutes: Annotated[int, typer.Option(help="Minutes of event time that the rows span.", min=8)] = 2_880,
    as_json: Json = False,
) -> None:
    """Five tumbling windows (10 min to 24 h) in one topology, against five Spark queries."""
    from benchmarks.bench_windows import multiwindow_bench  # noqa: PLC0415

    _compare(multiwindow_bench(rows, minutes), as_json)


@app.command(epilog="Example: rheostat bench growth --keys 10000 --keys 100000 --kind update")
def growth(
    keys: Annotated[list[int] | None, typer.Option(help="Keys in state; can be repeated.", min=1)] = None,
    kind: Annotated[str, typer.Option(help="State: append or update (windows), or keyed.")] = "keyed",
    as_json: Json = False,
) -> None:
    """Cost of an epoch while state grows from 10,000 to a million keys and the input stays the same."""
    from benchmarks import bench_growth  # noqa: PLC0415

    if kind not in bench_growth.KINDS:
        raise typer.BadParameter(f"choose one of {', '.join(bench_growth.KINDS)}", param_hint="--kind")
    figures = _with_status(lambda say: bench_growth.run(sorted(keys or [10_000, 100_000, 1_000_000]), kind, say))
    if as_json:
        print(json.dumps(figures))
        return
    table = Table(title=f"epochs that change {figures['changed_keys']:,} keys, {kind}")
    for name in ("keys", "epoch_seconds", "worst_epoch_seconds", "slot_seconds", "written_bytes", "state_bytes"):
        table.add_column(name.replace("_", " "), justify="right")
    for size in figures["sizes"]:
        table.add_row(*(f"{size[c.header.replace(' ', '_')]:,}" for c in table.columns))  # type: ignore[union-attr]
    Console().print(table)
    Console().print(f"largest over smallest: {figures['slowdown']} x")


@app.command(epilog="Example: rheostat bench state --rows 500000 --keys 10000 --json")
def state(
    rows: Annotated[int, typer.Option(help="Rows in all.", min=1_000)] = 2_000_000,
    epochs: Annotated[int, typer.Option(help="Epochs of equal size.", min=1)] = 4,
    keys: Annotated[int, typer.Option(help="Keys, Zipf 1.0.", min=1)] = 100_000,
    as_json: Json = False,
) -> None:
    """A running count and sum per key, against Spark's three Python state APIs (about eight minutes)."""
    from benchmarks import bench_state  # noqa: PLC0415

    _show(_with_status(lambda say: bench_state.run(rows, epochs, keys, say)), "running count and sum per key", as_json)


@app.command(epilog="Example: rheostat bench floor --rounds 1 --json")
def floor(
    rows: Annotated[int, typer.Option(help="Rows per epoch.", min=1)] = 1_000,
    epochs: Annotated[int, typer.Option(help="Epochs that count, after a warm-up.", min=10, max=60)] = 60,
    keys: Annotated[int, typer.Option(help="Keys, Zipf 1.0.", min=1)] = 100,
    rounds: Annotated[int, typer.Option(help="How often each side runs.", min=1)] = 3,
    as_json: Json = False,
) -> None:
    """Tiny epochs of windows and of keyed state: the fixed cost of an epoch, against Spark's own."""
    from benchmarks import bench_floor  # noqa: PLC0415

    _show(_with_status(lambda say: bench_floor.run(rows, epochs, keys, rounds, say)), "tiny epochs", as_json)


@app.command(epilog="Example: rheostat bench observations --rows 20000 --json")
def observations(
    rows: Annotated[int, typer.Option(help="Rows per epoch.", min=1)] = 1_000,
    epochs: Annotated[int, typer.Option(help="Epochs that count, after a warm-up.", min=10)] = 60,
    keys: Annotated[int, typer.Option(help="Keys, Zipf 1.0.", min=1)] = 10_000,
    shards: Annotated[list[int] | None, typer.Option(help="Shards; can be repeated.", min=1)] = None,
    as_json: Json = False,
) -> None:
    """The share of an epoch that goes into measuring it, with 256 and with 8,192 shards."""
    from benchmarks import bench_observations  # noqa: PLC0415

    counts = shards or [256, 8192]
    _show(_with_status(lambda say: bench_observations.run(rows, epochs, keys, counts, say)), "observing", as_json)


@app.command(epilog="Example: rheostat bench nexmark --query q5 --query q8 --json")
def nexmark(
    query: Annotated[list[str] | None, typer.Option(help="q0 to q22; can be repeated; all by default.")] = None,
    events: Annotated[int, typer.Option(help="Events per epoch.", min=1_000)] = 100_000,
    epochs: Annotated[int, typer.Option(help="Epochs that count, after a warm-up.", min=5, max=60)] = 20,
    rounds: Annotated[int, typer.Option(help="How often each side runs.", min=1)] = 1,
    as_json: Json = False,
) -> None:
    """The queries of NEXMark, against plain Spark where it can express them (about twenty minutes)."""
    from benchmarks import bench_nexmark  # noqa: PLC0415

    names = _chosen(query or [], list(bench_nexmark.NAMES), "--query")
    found = _with_status(lambda say: bench_nexmark.run(names, events, epochs, rounds, say))
    if not as_json:
        _show_queries(found)
    _show(found, "NEXMark", as_json)


@app.command(epilog="Example: rheostat bench fusion --rows 1000000 --rounds 1 --json")
def fusion(
    rows: Annotated[int, typer.Option(help="Rows in eight files.", min=1_000)] = 4_000_000,
    keys: Annotated[int, typer.Option(help="Keys, Zipf 1.0.", min=1)] = 10_000,
    rounds: Annotated[int, typer.Option(help="How often each side runs.", min=1)] = 3,
    as_json: Json = False,
) -> None:
    """Four operators on the same rows (Enorm's fast job): none, two, three and all of them fused."""
    from benchmarks import bench_fusion  # noqa: PLC0415

    _show(_with_status(lambda say: bench_fusion.run(rows, keys, rounds, say)), "the fast job", as_json)


@app.command(epilog="Example: rheostat bench layouts --rows 100000 --rounds 1 --json")
def layouts(
    rows: Annotated[int, typer.Option(help="Rows per epoch.", min=1_000)] = 300_000,
    epochs: Annotated[int, typer.Option(help="Epochs of a run.", min=2)] = 14,
    rounds: Annotated[int, typer.Option(help="How often each side runs.", min=1)] = 3,
    as_json: Json = False,
) -> None:
    """Windows that are split, combined, or what Rheostat chooses, over a grid of keys per pane and overlap."""
    from benchmarks import bench_layouts  # noqa: PLC0415

    found = _with_status(lambda say: bench_layouts.run(rows, epochs, rounds, say))
    if not as_json:
        table = Table(title="seconds by layout")
        for heading in ("keys per pane", "overlap", *bench_layouts.SIDES, "auto over better"):
            table.add_column(heading, justify="right")
        for cell in found.pop("cells"):
            shown = (cell["keys_per_pane"], cell["overlap"], *cell["seconds"].values(), cell["over_better"])
            table.add_row(*(str(value) for value in shown))
        Console().print(table)
    _show(found, "split, combined or automatic", as_json)


@app.command(epilog="Example: rheostat bench migration --keys 10000 --rounds 1 --json")
def migration(
    keys: Annotated[list[int] | None, typer.Option(help="Keys in state; can be repeated.", min=1)] = None,
    rows: Annotated[int, typer.Option(help="Rows per epoch.", min=1)] = 20_000,
    rounds: Annotated[int, typer.Option(help="How often each strategy runs.", min=1)] = 3,
    as_json: Json = False,
) -> None:
    """Half of the shards move under load while state grows: instant, smooth and disruptive (Enorm's strategies)."""
    from benchmarks import bench_migration  # noqa: PLC0415

    chosen = sorted(keys or [10_000, 100_000, 400_000])
    found = _with_status(lambda say: bench_migration.run(chosen, rows, rounds, say))
    if not as_json:
        _show_sides({f"{size['keys']:,} keys": {s: size[s] for s in bench_migration.STRATEGIES}
                     for size in found.pop("sizes")})  # fmt: skip
    _show(found, "half of the shards move", as_json)


@app.command(epilog="Example: rheostat bench homes --keys 60000 --rows 5000 --epochs 10 --rounds 1 --json")
def homes(
    keys: Annotated[int, typer.Option(help="Keys in state.", min=1_000)] = 300_000,
    rows: Annotated[int, typer.Option(help="Rows per epoch.", min=1)] = 20_000,
    epochs: Annotated[int, typer.Option(help="Epochs that are measured.", min=4)] = 40,
    rounds: Annotated[int, typer.Option(help="How often each side runs.", min=1)] = 2,
    as_json: Json = False,
) -> None:
    """Three hosts with caches of their own on a remote checkpoint: bytes fetched and epochs, with and without homes."""
    from benchmarks import bench_homes  # noqa: PLC0415

    found = _with_status(lambda say: bench_homes.run(keys, rows, epochs, rounds, say))
    _show(found, "slots that have homes", as_json)


@app.command(epilog="Example: rheostat bench rescale --keys 100000 --epochs 6 --json")
def rescale(
    keys: Annotated[int, typer.Option(help="Keys in state.", min=100)] = 1_000_000,
    rows: Annotated[int, typer.Option(help="Rows per epoch.", min=1)] = 10_000,
    epochs: Annotated[int, typer.Option(help="Epochs with each number of slots.", min=3)] = 12,
    as_json: Json = False,
) -> None:
    """2 -> 4 -> 8 -> 2 slots under steady load: the pause, against Spark's stop, repartition and restart."""
    from benchmarks import bench_rescale  # noqa: PLC0415

    _show(_with_status(lambda say: bench_rescale.run(keys, rows, epochs, say)), "changing the number of slots", as_json)


@app.command(epilog="Example: rheostat bench skew --zipf 1.0 --periods 2 --json")
def skew(
    zipf: Annotated[list[float] | None, typer.Option(help="Zipf exponent of the keys; can be repeated.")] = None,
    bound: Annotated[float, typer.Option(help="Seconds of an epoch at best; sets its rows.", min=0.1)] = 4.0,
    periods: Annotated[int, typer.Option(help="Periods; keys swap frequencies in between.", min=1)] = 3,
    period: Annotated[float, typer.Option(help="Seconds in a period.", min=0.1)] = 30.0,
    as_json: Json = False,
) -> None:
    """Rows of 1 ms on 16 slots with skewed keys that change: static hashing, Rheostat, and the lower bound."""
    from benchmarks import bench_skew  # noqa: PLC0415

    runs = _with_status(lambda say: [bench_skew.run(z, bound, periods, period, say) for z in zipf or [1.0, 1.5]])
    if as_json:
        print(json.dumps({**runs[0], "runs": runs}))
    else:
        for figures in runs:
            _show(figures, f"Zipf {figures['skew']}", as_json)
    if not all(figures["results_equal"] for figures in runs):
        raise RheostatError(_DIFFERENT)


@app.command(epilog="Example: rheostat bench shuffle --slots 10 --slots 5 --seconds 20 --json")
def shuffle(
    slots: Annotated[list[int] | None, typer.Option(help="Numbers of slots; can be repeated. 10 to 2.")] = None,
    seconds: Annotated[int, typer.Option(help="Seconds of tweets, for each number of slots.", min=3)] = 120,
    sides: Annotated[
        str, typer.Option(help="Sides, separated by commas: repartition, round_robin, posg, lpt, full_knowledge.")
    ] = "",
    as_json: Json = False,
) -> None:
    """Tweets of 25, 5 and 1 ms dealt to 2 to 10 slots: Spark's repartition, POSG, LPT, full knowledge of costs."""
    from benchmarks import bench_shuffle  # noqa: PLC0415
    from benchmarks.tweet_side import CORES, SIDES  # noqa: PLC0415

    chosen = slots or list(bench_shuffle.SLOTS)
    if not all(1 <= k <= CORES for k in chosen):
        raise typer.BadParameter(f"choose numbers from 1 to {CORES}", param_hint="--slots")
    wanted = _chosen([s for s in sides.split(",") if s], list(SIDES), "--sides")
    ran = [s for s in SIDES if s in {*wanted, "repartition", "round_robin"}]
    figures = _with_status(lambda say: bench_shuffle.run(chosen, seconds, ran, say))
    _show(figures, "mean completion time of tweets", as_json)


@app.command(epilog="Example: rheostat bench slo --workload step --seconds 60 --plot slo.svg --json")
def slo(
    workload: Annotated[
        list[str] | None, typer.Option(help="sinusoid, opening, step or wander; all by default.")
    ] = None,
    policies: Annotated[
        str,
        typer.Option(
            help="Sides to run, separated by commas: static_large, static_small, drs_lb, streamswitch, hindsight."
        ),
    ] = "",
    seconds: Annotated[int, typer.Option(help="Seconds of a workload, after the warm-up.", min=5)] = 180,
    bound: Annotated[float, typer.Option(help="Seconds of latency that are promised.", min=0.1)] = 3.0,
    plot: Annotated[Path | None, typer.Option(help="Draw latency and slots over time into this .svg or .png.")] = None,
    as_json: Json = False,
) -> None:
    """A promise about latency under loads that change: fixed slots, DRS-LB and StreamSwitch on the same rows."""
    from benchmarks import bench_slo  # noqa: PLC0415
    from benchmarks.live_loads import LOADS  # noqa: PLC0415

    workloads = _chosen(workload or [], list(LOADS), "--workload")
    sides = _chosen([s for s in policies.split(",") if s], list(bench_slo.SIDES), "--policies")
    found = _with_status(lambda say: bench_slo.run(workloads, sides, seconds, say, plot, bound=bound))
    if not as_json:
        _show_sides(found.pop("workloads"))
    _show(found, f"mean latency within {found['bound_s']} s over {found['over_s']} s", as_json)


@app.command(epilog="Example: rheostat bench autoscale --workload square --seconds 240 --json")
def autoscale(
    workload: Annotated[list[str] | None, typer.Option(help="square or recorded; both by default.")] = None,
    policies: Annotated[
        str,
        typer.Option(help="Sides to run, separated by commas: fixed, reactive, proactive, joint, dynamic."),
    ] = "",
    seconds: Annotated[int, typer.Option(help="Seconds of a run.", min=60)] = 260,
    as_json: Json = False,
) -> None:
    """Nodes saved and throughput lost on a cluster: ELYSIUM, joint scaling, Spark's dynamic allocation, all nodes."""
    from benchmarks import bench_autoscale  # noqa: PLC0415
    from benchmarks.autoscale_loads import LOADS  # noqa: PLC0415

    workloads = _chosen(workload or [], list(LOADS), "--workload")
    sides = _chosen([s for s in policies.split(",") if s], list(bench_autoscale.SIDES), "--policies")
    found = _with_status(lambda say: bench_autoscale.run(workloads, sides, seconds, say))
    if not as_json:
        _show_sides(found.pop("workloads"))
    _show(found, f"{found['nodes']} nodes, assessed every {found['period_s']:g} s", as_json)


@app.command(epilog="Example: rheostat bench law --seconds 120 --json")
def law(
    seconds: Annotated[int, typer.Option(help="Seconds of all phases together.", min=40)] = 200,
    as_json: Json = False,
) -> None:
    """The micro-batch law: expected against measured epochs and latency, over changing rates, slots and skews."""
    from benchmarks import bench_law  # noqa: PLC0415

    _show(_with_status(lambda say: bench_law.run(seconds, say)), "the micro-batch law", as_json)


@app.command(
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    epilog="Example: rheostat bench against HEAD~20 rescale --pairs 4 --keys 100000 --json",
)
def against(
    context: typer.Context,
    commit: Annotated[str, typer.Argument(help="The older commit, as git names it.")],
    name: Annotated[str, typer.Argument(help="The benchmark; its own options may follow.")],
    pairs: Annotated[int, typer.Option(help="How often each version runs.", min=1)] = 3,
    as_json: Json = False,
) -> None:
    """One benchmark at this checkout and at an older commit, by turns: every figure of both, new over old."""
    from benchmarks import bench_against  # noqa: PLC0415

    known = sorted(c.callback.__name__ for c in app.registered_commands if c.callback and c.callback is not against)
    if name not in known:
        raise typer.BadParameter(f"choose one of {', '.join(known)}", param_hint="NAME")
    found = _with_status(lambda say: bench_against.run(commit, [name, *context.args], pairs, say))
    if as_json:
        print(json.dumps(found))
        return
    table = Table(title=f"bench {name}: this checkout against {commit}, medians of {pairs}")
    for heading in ("figure", "old", "new", "new / old", "pairs"):
        table.add_column(heading, justify="left" if heading == "figure" else "right", overflow="fold")
    for figure, values in found["figures"].items():
        each, ratio = values["pair_ratios"], values["ratio"]
        spread = f"{each[0]:.2f} to {each[-1]:.2f}" if each else "-"
        shown = "-" if ratio is None else f"{ratio:.2f}"
        old, new = (f"{v:,.0f}" if abs(v) >= _WHOLE else f"{v:.4g}" for v in (values["old"], values["new"]))
        table.add_row(figure, old, new, shown, spread)
    Console().print(table)


def _chosen(wanted: list[str], known: list[str], option: str) -> list[str]:
    """Return what was chosen, or all if nothing was; refuse what is not known."""
    for name in wanted:
        if name not in known:
            raise typer.BadParameter(f"choose one of {', '.join(known)}", param_hint=option)
    return wanted or known


def _show_sides(workloads: dict[str, dict[str, Any]]) -> None:
    """Print one table per workload, with a column for each side."""
    for name, sides in workloads.items():
        table = Table(title=name)
        table.add_column("figure")
        for side in sides:
            table.add_column(side, justify="right")
        for figure in next(iter(sides.values()), {}):
            table.add_row(figure, *(str(figures[figure]) for figures in sides.values()))
        Console().print(table)


def _show_queries(figures: dict[str, Any]) -> None:
    """Print one row per query of NEXMark, and take these figures out of the others."""
    ours, theirs, ratios = (figures.pop(key) for key in ("rheostat_rows_per_s", "native_rows_per_s", "ratios"))
    why = figures.pop("not_native")
    table = Table(title="rows per second")
    for heading in ("query", "Rheostat", "Spark", "ratio"):
        table.add_column(heading, justify="left" if heading == "query" else "right")
    for name, rate in ours.items():
        spark = f"{theirs[name]:,}" if name in theirs else why[name]
        table.add_row(name, f"{rate:,}", spark, str(ratios.get(name, "-")))
    Console().print(table)


def _compare(comparison: WindowBench, as_json: bool) -> None:
    figures = _with_status(comparison.run)
    _show(figures, ", ".join(figures["windows"]), as_json)


def _with_status(work: Callable[[Callable[[str], None]], Result]) -> Result:
    """Run ``work`` and show on the terminal the steps that it reports; return its result."""
    with Console(stderr=True).status("") as status:
        return work(status.update)


def _show(figures: dict[str, Any], title: str, as_json: bool) -> None:
    """Print the figures as a table or as JSON; raise ``RheostatError`` if the sides gave different results."""
    if as_json:
        print(json.dumps(figures))
    else:
        table = Table(title=title)
        table.add_column("figure")
        table.add_column("value", justify="right")
        for name, value in figures.items():
            table.add_row(name, f"{value:,}" if isinstance(value, (int, float)) else str(value))
        Console().print(table)
    if not figures.get("results_equal", True):
        raise RheostatError(_DIFFERENT)
