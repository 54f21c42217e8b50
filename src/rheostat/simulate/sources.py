"""Workloads by name, for scenarios."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rheostat.errors import TopologyError
from rheostat.workloads import recorded
from rheostat.workloads.arrivals import Constant, Curve, Workload
from rheostat.workloads.draws import zipf
from rheostat.workloads.exchange import Exchange
from rheostat.workloads.market import Market, SaturatedMarket
from rheostat.workloads.micro import Micro
from rheostat.workloads.nexmark import Nexmark
from rheostat.workloads.sinusoid import Sinusoid
from rheostat.workloads.wordcount import WordCount

KINDS: Mapping[str, Any] = {
    "micro": Micro,
    "market": Market,
    "saturated-market": SaturatedMarket,
    "sinusoid": Sinusoid,
    "nexmark": Nexmark,
    "wordcount": WordCount,
    "constant": Constant,
    "curve": Curve,
    "recorded": Curve,
}


def make_workload(given: Mapping[str, Any]) -> Workload:
    """A workload of a kind, with values for its attributes.

    ``constant``, ``curve`` and ``recorded`` take ``shards`` and ``skew`` (a Zipf exponent) instead of weights;
    ``market`` takes ``orders`` and ``day_seconds``; ``recorded`` takes the ``load`` by its file's name without
    ``.csv``, ``peak`` rows per second, and ``speed``, seconds of the recording in a second.

    >>> make_workload({"kind": "constant", "rate": 10.0, "shards": 4}).shards
    4
    """
    values = {k: v for k, v in given.items() if k != "kind"}
    kind = str(given.get("kind"))
    if kind not in KINDS:
        raise TopologyError(f"workload {kind!r}: choose one of {', '.join(KINDS)}")
    if kind == "recorded":
        values = _recorded(values)
    if kind in ("constant", "curve", "recorded"):
        values["weights"] = zipf(int(values.pop("shards", 64)), float(values.pop("skew", 0.0)))
    if kind == "market" and {"orders", "day_seconds"} & set(values):
        orders, seconds = values.pop("orders", Exchange().orders), values.pop("day_seconds", Exchange().seconds)
        values["day"] = Exchange(orders, seconds)
    try:
        made: Workload = KINDS[kind](**values)
    except TypeError as error:
        raise TopologyError(f"workload {kind!r}: {str(error).split('__init__() ')[-1]}") from error
    return made


def _recorded(values: Mapping[str, Any]) -> dict[str, Any]:
    """A recorded load as a curve."""
    rest = dict(values)
    name, peak, speed = rest.pop("load", ""), float(rest.pop("peak", 1_000.0)), float(rest.pop("speed", 1.0))
    data = rest.pop("data", None)
    found = recorded.loads(Path(data) if data else None)
    if not found.recorded and not name.startswith("synthetic"):
        name = next(iter(found.series))  # the stand-in, which its note announces
    if name not in found.series:
        raise TopologyError(f"load {name!r}: choose one of {', '.join(found.series)} ({found.note})")
    series = found.series[name]
    curve = np.asarray(series.values, dtype=np.float64)
    return {"curve": peak * curve / max(float(curve.max()), 1e-9), "step": series.step / speed, **rest}
