"""POSG's figure 5: speed-up by provisioning, the rate that the slots can sustain over the rate of the stream."""

from __future__ import annotations

import numpy as np

from papers.claims import Claim, Judged, versions
from papers.posg.testbed.streams import StreamSetting
from papers.posg.testbed.sweep import CHOSEN, Sweep, draw_both, draw_speedup, sweep
from papers.side_by_side import Bench


def reproduce(bench: Bench) -> list[Claim]:
    """Reproduce the figure and judge its claims."""
    percents = (95, 98, 100, 102, 105, 109, 115) if bench.run.quick else tuple(range(95, 116))
    settings: dict[float, StreamSetting] = {p: StreamSetting(provisioning=p / 100) for p in percents}
    found = sweep(bench, "fig. 5: provisioning", settings)
    draw_both(draw_speedup, bench.run, "fig05", "Speed-up by provisioning", "provisioning (%)", found)
    return [
        versions(
            "fig5-sized",
            "from 100 to 109 % provisioning, the mean speed-up over round robin is at least 1.15",
            "1.15",
            found.each(_sized),
            chosen=CHOSEN,
        ),
        versions(
            "fig5-peak",
            "the speed-up is highest near 102 % provisioning (from 101 to 103 %)",
            "1.26 at 102 %",
            found.each(_peak),
            chosen=CHOSEN,
        ),
        versions(
            "fig5-under",
            "with too little capacity (95 to 98 % provisioning) all tuples queue, and the speed-up is smaller than at "
            "100 %",
            "yes",
            found.each(_under),
            chosen=CHOSEN,
        ),
        versions(
            "fig5-over",
            "at 115 % provisioning the speed-up is still 1.07",
            "1.07",
            found.each(lambda each: (f"{_means(each)[115]:.2f}", _means(each)[115] >= 1.07)),
            chosen=CHOSEN,
        ),
    ]


def _means(found: Sweep) -> dict[float, float]:
    return {p: float(t.speedup.mean()) for p, t in found.items()}


def _sized(found: Sweep) -> Judged:
    sized = float(np.mean([value for p, value in _means(found).items() if 100 <= p <= 109]))
    return f"{sized:.2f}", sized >= 1.15


def _peak(found: Sweep) -> Judged:
    mean = _means(found)
    peak = max(mean, key=lambda p: mean[p])
    return f"{mean[peak]:.2f} at {peak} %", 101 <= peak <= 103


def _under(found: Sweep) -> Judged:
    mean = _means(found)
    under = float(np.mean([value for p, value in mean.items() if p <= 98]))
    return f"{under:.2f}, {mean[100]:.2f}", under < mean[100]
