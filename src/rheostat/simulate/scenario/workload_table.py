"""Workloads by name, for scenarios."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rheostat.errors import ConfigurationError, TopologyError
from rheostat.simulate.scenario.toml_table import Kinds, checked, kinds_of
from rheostat.workloads import load_traces
from rheostat.workloads.arrivals import Constant, RateCurve, Workload
from rheostat.workloads.draws import positive, zipf
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


_SPREAD = {"shards": int, "skew": float}
_MORE: Mapping[str, Kinds] = {
    "constant": _SPREAD,
    "curve": {"curve": tuple[float, ...], **_SPREAD},
    "recorded": {"load": str, "peak": float, "speed": float, "data": str, **_SPREAD},
    "market": {"orders": int, "day_seconds": int},
}
"""What a file says of a workload besides its own attributes."""

_LEFT_OUT = frozenset({"weights", "day"})


def make_workload(given: Any) -> Workload:
    """A workload of a kind, with values for its attributes.

    ``constant``, ``curve`` and ``recorded`` take ``shards`` and ``skew`` (a Zipf exponent) instead of weights;
    ``market`` takes ``orders`` and ``day_seconds``; ``recorded`` takes the ``load`` by its file's name without
    ``.csv``, ``peak`` rows per second, and ``speed``, seconds of the recording in a second.

    >>> make_workload({"kind": "constant", "rate": 10.0, "shards": 4}).shards
    4
    """
    if not isinstance(given, Mapping):
        raise ConfigurationError(
            f'workload = {given!r}: write a table, a line [workload] and below it kind = "constant"'
        )
    kind = given.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise ConfigurationError(f"workload {kind!r}: choose one of {', '.join(KINDS)}")
    leave_out = _LEFT_OUT | {"curve", "step"} if kind == "recorded" else _LEFT_OUT
    kinds = {**kinds_of(KINDS[kind], leave_out), **_MORE.get(kind, {})}
    values = checked(f"[workload] {kind}", {k: v for k, v in given.items() if k != "kind"}, kinds)
    try:
        made: Workload = KINDS[kind](**_shaped(kind, values))
    except (TypeError, ConfigurationError, TopologyError) as error:
        raise ConfigurationError(f"[workload] {kind}: {str(error).split('__init__() ')[-1]}") from error
    return made


def _shaped(kind: str, values: dict[str, Any]) -> dict[str, Any]:
    """What a file says, as the workload takes it."""
    if kind == "recorded":
        values = _recorded(values)
    if kind in ("constant", "curve", "recorded"):
        values["weights"] = zipf(values.pop("shards", 64), values.pop("skew", 0.0))
    if kind == "market" and {"orders", "day_seconds"} & set(values):
        orders, seconds = values.pop("orders", Exchange().orders), values.pop("day_seconds", Exchange().seconds)
        values["day"] = Exchange(orders, seconds)
    return values


def _recorded(values: Mapping[str, Any]) -> dict[str, Any]:
    """A recorded load as a curve."""
    rest = dict(values)
    name, peak, speed = rest.pop("load", ""), rest.pop("peak", 1_000.0), rest.pop("speed", 1.0)
    positive(peak=peak, speed=speed)
    data = rest.pop("data", None)
    found = load_traces.loads(Path(data) if data else None)
    if not found.recorded and not name.startswith("synthetic"):
        name = next(iter(found.series))  # the stand-in, which its note announces
    if name not in found.series:
        raise ConfigurationError(f"load {name!r}: choose one of {', '.join(found.series)} ({found.note})")
    series = found.series[name]
    curve = np.asarray(series.values, dtype=np.float64)
    return {"curve": peak * curve / max(float(curve.max()), 1e-9), "step": series.step / speed, **rest}
