"""The table ``[workload]`` of a scenario: a workload by kind, with values for its parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import numpy as np

from rheostat.errors import ConfigurationError, TopologyError
from rheostat.simulate.scenario.toml_table import Types, check_table, field_types
from rheostat.workloads import load_traces
from rheostat.workloads.arrivals import Constant, RateCurve, Workload
from rheostat.workloads.draws import check_positive, zipf
from rheostat.workloads.exchange import Exchange
from rheostat.workloads.market import SaturatedMarket, TradingDay
from rheostat.workloads.micro import Micro
from rheostat.workloads.nexmark import Nexmark
from rheostat.workloads.sinusoid import Sinusoid
from rheostat.workloads.wordcount import WordCount

KINDS: Mapping[str, Any] = {
    "micro": Micro,
    "market": TradingDay,
    "saturated-market": SaturatedMarket,
    "sinusoid": Sinusoid,
    "nexmark": Nexmark,
    "wordcount": WordCount,
    "constant": Constant,
    "curve": RateCurve,
    "recorded": RateCurve,
}
"""Maps each kind of workload to its class."""

_SPREAD = {"shards": int, "skew": float}
_ADDED: Mapping[str, Types] = {
    "constant": _SPREAD,
    "curve": {"curve": tuple[float, ...], **_SPREAD},
    "recorded": {"load": str, "peak": float, "speed": float, "data": str, **_SPREAD},
    "market": {"orders": int, "day_seconds": int},
}
"""Keys of a kind that are not fields of its class, with their types."""

_FIXED = frozenset({"weights", "day"})
"""Fields of workloads that a file cannot set."""

_FROM_TRACE = frozenset({"curve", "step"})
"""Fields of ``RateCurve`` that a recorded load sets."""


def make_workload(table: Any) -> tuple[Workload, str]:
    """Return the workload of the kind that a table names, and a note for the user, or an empty text.

    Besides the fields of the workload, ``constant``, ``curve`` and ``recorded`` have the keys ``shards`` and ``skew``
    (a Zipf exponent) instead of weights. ``market`` has ``orders`` and ``day_seconds``. ``recorded`` has ``load``, the
    name of a file without ``.csv``; ``peak``, in rows per second; ``speed``, seconds of the recording per second; and
    ``data``, a folder instead of the one that ``RHEOSTAT_DATA`` names. The note says if a synthetic load is used
    because there are no recorded ones.

    >>> workload, note = make_workload({"kind": "constant", "rate": 10.0, "shards": 4})
    >>> workload.shards, note
    (4, '')
    """
    if not isinstance(table, Mapping):
        raise ConfigurationError(
            f'workload = {table!r}: write a table, a line [workload] and below it a line such as kind = "constant"'
        )
    kind = table.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise ConfigurationError(f"[workload] kind: unknown workload {kind!r}, choose one of {', '.join(KINDS)}")
    where = f"[workload] {kind}"
    fixed = _FIXED | _FROM_TRACE if kind == "recorded" else _FIXED
    types = {**field_types(KINDS[kind], fixed), **_ADDED.get(kind, {})}
    required = [f.name for f in fields(KINDS[kind]) if f.init and _has_no_default(f) and f.name in types]
    values = check_table(where, {key: value for key, value in table.items() if key != "kind"}, types, required)
    try:
        parameters, note = _parameters(kind, values)
        workload: Workload = KINDS[kind](**parameters)
    except (ConfigurationError, TopologyError) as error:
        raise ConfigurationError(f"{where}: {error}") from error
    return workload, note


def _has_no_default(field: Any) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def _parameters(kind: str, values: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """Return the values of a table as parameters of the workload, and a note for the user."""
    note = ""
    if kind == "recorded":
        values, note = _load_recorded(values)
    if kind in ("constant", "curve", "recorded"):
        values["weights"] = zipf(values.pop("shards", 64), values.pop("skew", 0.0))
    if kind == "market" and {"orders", "day_seconds"} & set(values):
        orders, seconds = values.pop("orders", Exchange().orders), values.pop("day_seconds", Exchange().seconds)
        values["day"] = Exchange(orders, seconds)
    return values, note


def _load_recorded(values: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Replace the keys of a recorded load by the curve and its step; the note says if it is a synthetic one."""
    rest, note = dict(values), ""
    name, peak, speed = rest.pop("load", ""), rest.pop("peak", 1_000.0), rest.pop("speed", 1.0)
    check_positive(peak=peak, speed=speed)
    data = rest.pop("data", None)
    loads = load_traces.loads(Path(data) if data else None)
    if not loads.recorded and not name.startswith("synthetic"):
        name = next(iter(loads.series))
        note = f"{loads.note}; the load is {name!r}"
    if name not in loads.series:
        raise ConfigurationError(f"load = {name!r}: choose one of {', '.join(loads.series)} ({loads.note})")
    series = loads.series[name]
    curve = np.asarray(series.values, dtype=np.float64)
    return {"curve": peak * curve / max(float(curve.max()), 1e-9), "step": series.step / speed, **rest}, note
