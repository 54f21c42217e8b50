"""``rheostat simulate --replay``: replay a recorded run, print the figures side by side, and draw them over time."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from rheostat import plots
from rheostat.elastic.model.policy import Policy
from rheostat.elastic.model.promise import Latency
from rheostat.elastic.policies import POLICIES, policy_for_spark
from rheostat.elastic.record.decision_replay import first_difference, replay_decisions
from rheostat.elastic.record.recording import Header, Recording, settings_of
from rheostat.simulate.replay.recorded_load import RecordedLoad
from rheostat.simulate.replay.replay_error import ReplayError
from rheostat.simulate.replay.run_figures import RunFigures
from rheostat.simulate.replay.what_if import hindsight_slots, most_slots, replay_plans, replay_policy, replay_slots

_LISTED = 4  # decisions of a policy that are printed


def replay_report(
    file: Path,
    policies: Sequence[str],
    slots: Sequence[int],
    promise: Latency | None,
    plot: Path | None,
    as_json: bool,
    warm_up: float = 0.0,
) -> None:
    """Replay a recorded run, draw its figure and print its results.

    Args:
        file: the recording.
        policies: names of policies to replay it under.
        slots: fixed numbers of slots to replay it with.
        promise: the promise to keep and to judge by; that of the recorded run if None.
        plot: file for the figure; by default in the folder ``reports``.
        as_json: True to print the figures as JSON.
        warm_up: seconds from the start of the query in which epochs do not count.
    """
    recording = Recording.read(file)
    header = recording.header
    wanted = promise or header.promise
    limits = header.slots or (1, most_slots(recording))
    chosen = [elastic_policy(name, wanted, limits) for name in policies]  # a wrong name is an error before any work
    load = RecordedLoad.of(recording)
    runs = {"recorded": recording, "replayed": replay_plans(recording, load)}
    runs |= {policy.name: replay_policy(recording, policy, load) for policy in chosen}
    runs |= {f"{count} slots": replay_slots(recording, count, load) for count in slots}
    figures = {name: RunFigures.of(run, wanted, warm_up) for name, run in runs.items()}
    path = plot or Path("reports") / f"{file.stem}-replay.svg"
    draw(header.topology, runs, wanted, path)
    report = {
        "recording": str(file),
        "topology": header.topology,
        "policy": header.policy,
        "promise": None if wanted is None else {"seconds": wanted.seconds, "window": wanted.window},
        "error": asdict(ReplayError.between(recording, runs["replayed"], wanted, warm_up)),
        "decides_again": decides_again(recording),
        "hindsight_slots": None if wanted is None else hindsight_slots(recording, wanted, warm_up=warm_up),
        "notes": notes_on(recording),
        "runs": {name: asdict(each) for name, each in figures.items()},
        "plot": str(path),
    }
    if as_json:
        print(json.dumps(_finite(report)))
    else:
        show(report, {policy.name: runs[policy.name] for policy in chosen}, Console())


def elastic_policy(name: str, promise: Latency | None, slots: tuple[int, int]) -> Policy:
    """Return a policy by name as ``start`` would make it; a range of slots goes only to those that can use it."""
    fixed = name in POLICIES and not hasattr(POLICIES[name].make(), "keeping")
    return policy_for_spark(name, promise, None if fixed else slots)


def notes_on(recording: Recording) -> list[str]:
    """Return in words what the recorded run cannot tell."""
    notes = []
    if len({tuple(t.plan.slots().values()) for t in recording.turns}) == 1:
        notes.append(
            "the run never changed its slots, so what a task costs is a guess: answers about other numbers of slots "
            "are rougher than the error says"
        )
    if any(t.observation.behind > 0 for t in recording.turns):
        notes.append("the source held rows back: they count as arriving when it handed them over")
    return notes


def decides_again(recording: Recording) -> bool | None:
    """Return True if the recorded policy makes the recorded decisions again, bit for bit.

    None if it cannot be made again: it has settings of its own, or the recording began later than the policy.
    """
    header = recording.header
    if not header.complete or header.policy not in POLICIES:
        return None
    for slots in {header.slots, None}:
        policy = _with_recorded_settings(header, slots)
        if policy is not None:
            return first_difference(recording.turns, replay_decisions(recording, policy)) is None
    return None


def _with_recorded_settings(header: Header, slots: tuple[int, int] | None) -> Policy | None:
    """Return the policy that ``start`` makes of the recorded name; None if that has other settings."""
    policy = POLICIES[header.policy].make()
    if hasattr(policy, "keeping"):
        policy = policy_for_spark(header.policy, header.promise, slots)
    return policy if settings_of(policy) == header.settings else None


def show(report: dict[str, Any], decided: dict[str, Recording], console: Console) -> None:
    """Print the figures side by side, the errors of the replay, and the last decisions of every policy."""
    promise = report["promise"]
    bound = f"within {promise['seconds']:g} s over {promise['window']:g} s" if promise else "no promise"
    table = Table(title=f"{report['topology']} under {report['policy']}, recorded; {bound}", box=None, pad_edge=False)
    table.add_column("", no_wrap=True)
    for key in next(iter(report["runs"].values())):
        table.add_column(key.replace("_seconds", " s"), justify="right")
    for name, run in report["runs"].items():
        table.add_row(name, *map(_number, run.values()))
    console.print(table)
    error = {key: _percent(value) for key, value in report["error"].items() if key != "success"}
    console.print(
        f"error of the replay: epochs {error['epoch_seconds']} and latency {error['latency']} in the median, "
        f"success {_points(report['error']['success'])}, slot-seconds {error['slot_seconds']}",
        highlight=False,
    )
    for note in report["notes"]:
        console.print(f"note: {note}", highlight=False)
    again = {True: "yes, bit for bit", False: "no", None: "unknown, as its settings or its beginning are missing"}
    console.print(f"the recorded policy decides the same again: {again[report['decides_again']]}", highlight=False)
    if promise:
        fewest = report["hindsight_slots"]
        text = f"{fewest}" if fewest else "none"
        console.print(
            f"fewest fixed slots that would have kept the promise in 95 % of windows: {text}", highlight=False
        )
    for name, run in decided.items():
        lines = [
            f"{t.observation.time:8.1f} s  {r.operator}: {r.action} to {r.plan.slots} slots ({'; '.join(r.reasons)})"
            for t in run.turns
            for r in t.accepted
        ]
        console.print(f"{name}: {len(lines)} decisions" + (", the last:" if lines else ""), highlight=False)
        for line in lines[-_LISTED:]:
            console.print(line, highlight=False, markup=False)
    console.print(f"figure: {report['plot']}", highlight=False, markup=False, soft_wrap=True)


def draw(title: str, runs: dict[str, Recording], promise: Latency | None, path: Path) -> None:
    """Draw the rate of rows, the latency and the slots of all runs over time."""
    with plots.figure(path, f"{title}, replayed", rows=3, width=8, height=1.9) as axes:
        rate, latency, slots = axes[:, 0]
        for name, run in runs.items():
            turns = [t for t in run.turns if t.observation.busy > 0]
            times = [t.observation.time for t in turns]
            style: dict[str, Any] = {"label": name, "lw": 1.6 if name == "recorded" else 1.0}
            if name == "recorded":
                rate.plot(times, [t.observation.external for t in turns], color="#999999")
            latency.plot(times, [t.observation.latency.mean for t in turns], **style)
            slots.step(times, [sum(t.plan.slots().values()) for t in turns], where="post", **style)
        if promise is not None:
            latency.axhline(promise.seconds, color="#555555", lw=0.8, ls="--")
        rate.set(ylabel="rows/s", ylim=(0, None))
        latency.set(ylabel="latency (s)", yscale="log")
        slots.set(ylabel="slots", xlabel="seconds", ylim=(0, None))
        slots.legend(ncols=4, fontsize=7)


def _number(value: float) -> str:
    return "" if isinstance(value, float) and np.isnan(value) else f"{value:,.4g}"


def _percent(value: float) -> str:
    return "unknown" if np.isnan(value) else f"{value:.1%}"


def _points(value: float) -> str:
    return "unknown" if np.isnan(value) else f"{100 * value:+.1f} points"


def _finite(value: Any) -> Any:
    """Return a value for JSON, which has neither NaN nor infinity."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value
