"""POSG's figure 8: speed-up by the number of slots."""

from __future__ import annotations

from papers.claims import Claim, Judged, versions
from papers.posg.testbed.streams import StreamSetting
from papers.posg.testbed.sweep import CHOSEN, Sweep, draw_both, draw_speedup, sweep
from papers.side_by_side import Bench


def reproduce(bench: Bench) -> list[Claim]:
    """Reproduce the figure and judge its claims."""
    slots = (1, 2, 3, 9, 10) if bench.run.quick else tuple(range(1, 11))
    found = sweep(bench, "fig. 8: slots", {k: StreamSetting(slots=k) for k in slots})
    draw_both(draw_speedup, bench.run, "fig08", "Speed-up by number of slots", "slots k", found)
    ideal = {k: float((t.round_robin / t.full_knowledge).mean()) for k, t in found.ours.items()}
    return [
        versions(
            "fig8-one",
            "with one slot POSG is as fast as round robin: the speed-up is 1",
            "1",
            found.each(lambda each: (f"{_means(each)[1]:.3f}", abs(_means(each)[1] - 1) < 1e-3)),
            chosen=CHOSEN,
        ),
        versions(
            "fig8-growth",
            "the speed-up grows with the number of slots, but less and less: more from 2 to 3 than from 9 to 10",
            "4 %, 1 %",
            found.each(_growth),
            chosen=CHOSEN,
            detail=f"With a warm start the speed-up hardly changes here. Full Knowledge's grows ({ideal[2]:.2f} with 2 "
            f"slots, {ideal[10]:.2f} with 10), but POSG's estimation errors add up in each slot over a window between "
            "two synchronisations, however many slots there are. From a cold start, more slots take longer to learn.",
        ),
    ]


def _means(found: Sweep) -> dict[float, float]:
    return {k: float(t.speedup.mean()) for k, t in found.items()}


def _growth(found: Sweep) -> Judged:
    mean = _means(found)
    early, late = mean[3] / mean[2] - 1, mean[10] / mean[9] - 1
    growth = f"{early:.1%}, {late:.1%}; {mean[2]:.2f} with 2, {mean[10]:.2f} with 10"
    return growth, mean[10] > mean[2] and early > late
