"""One side of ``rheostat demo``: a run of the job under a policy, and what it leaves behind."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import rheostat as rh
from rheostat.demo.promise_job import ROW_SECONDS, SHARDS
from rheostat.demo.sleeping_totals import COMPONENT, job
from rheostat.workloads.live_rows import LiveRows
from rheostat.workloads.row_feeder import RowFeeder

_START_UP = 60.0  # seconds until Spark must have asked for the first row
_REFRESH = 0.25  # seconds between two looks at the query


@dataclass(frozen=True)
class Moment:
    """What one epoch of a side showed.

    Attributes:
        time: when it was committed, in seconds since the first row was due.
        rows: its rows.
        seconds: its length.
        latency: median latency of its rows in seconds; NaN if it had none.
        slots: slots that worked in it.
    """

    time: float
    rows: int
    seconds: float
    latency: float
    slots: int


@dataclass(frozen=True, kw_only=True)
class SideResult:
    """A finished side.

    Attributes:
        name: its name.
        slo: how well the promise was kept.
        decisions: what the policy decided.
        moments: the epochs.
    """

    name: str
    slo: rh.Slo
    decisions: tuple[rh.Decision, ...]
    moments: tuple[Moment, ...]

    @property
    def changes(self) -> int:
        """The number of decisions that changed something."""
        return sum(map(is_change, self.decisions))

    def to_dict(self) -> dict[str, Any]:
        """Return the side as plain values, for JSON."""
        slo = self.slo.to_dict()
        slo.pop("success_by_shard")
        return {**slo, "decisions": self.changes}


def is_change(decision: rh.Decision) -> bool:
    """True if the decision changed the plan: it was not refused, and not only said."""
    return decision.action != "nothing" and not decision.outcome.startswith("refused")


Show = Callable[[rh.Query, list[Moment], float], None]
"""Called several times per second with the query, its epochs so far, and the seconds since the first row was due."""


def run_promise_side(spark: Any, name: str, rows: LiveRows, home: Path, show: Show, **options: Any) -> SideResult:
    """Run the job until the last row was sent and some were committed; what is left then is given up.

    Args:
        spark: the session.
        name: name of the side.
        rows: its rows.
        home: folder for results and checkpoint.
        show: shows how far it is.
        **options: passed to ``Topology.start``.
    """
    moments: list[Moment] = []
    with RowFeeder(rows.times, rows.keys, patience=_START_UP) as feed:

        def committed(p: rh.Progress) -> None:
            slots = len(p.slot_seconds.get(COMPONENT, ()))
            latency = p.latency["p50"] if p.latency else float("nan")
            moments.append(Moment(time.time() - (feed.began or time.time()), p.rows, p.seconds, latency, slots))

        query = job(spark, feed.port, ROW_SECONDS, home / "out").start(
            str(home / "checkpoint"), shards=SHARDS, on_progress=committed, **options
        )
        deadline = time.monotonic() + _START_UP + float(rows.times[-1])
        while time.monotonic() < deadline and query.is_active:
            if feed.wait(_REFRESH):
                if any(moment.rows for moment in moments):
                    break
                time.sleep(_REFRESH)  # a slow machine has not committed anything yet
            show(query, list(moments), time.time() - (feed.began or time.time()))
        query.stop()
        show(query, list(moments), time.time() - (feed.began or time.time()))  # what came since the last look
        slo, decisions = query.slo(), tuple(query.decisions())
    if (error := query.exception()) is not None:
        raise error
    return SideResult(name=name, slo=slo, decisions=decisions, moments=tuple(moments))
