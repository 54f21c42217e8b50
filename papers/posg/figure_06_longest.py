"""POSG's figure 6: completion time by the longest execution time of a tuple."""

from __future__ import annotations

from papers.claims import Claim, Judged, versions
from papers.posg.testbed.streams import StreamSetting
from papers.posg.testbed.sweep import CHOSEN, Sweep, draw_both, draw_completion, mean_speedup, sweep
from papers.side_by_side import Bench


def reproduce(bench: Bench) -> list[Claim]:
    """Reproduce the figure and judge its claims."""
    many = (4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0)
    longest = (4.0, 64.0, 1024.0) if bench.run.quick else many
    found = sweep(bench, "fig. 6: longest execution", {w: StreamSetting(longest=w) for w in longest})
    draw_both(draw_completion, bench.run, "fig06", "Mean completion time by longest execution", "w_max (ms)", found)
    return [
        versions(
            "fig6-speedup",
            "over all longest execution times w_max, the mean speed-up over round robin is 1.19",
            "1.19",
            found.each(lambda each: (f"{mean_speedup(each):.2f}", mean_speedup(each) >= 1.19)),
            note="Our copy of the paper lacks the figure with its values of w_max; ours are 4 to 1024 ms.",
            chosen=CHOSEN,
        ),
        versions(
            "fig6-slope",
            "from the smallest to the largest w_max, the speed-up changes by no more than 0.1",
            "slightly",
            found.each(_slope),
            chosen=CHOSEN,
        ),
    ]


def _slope(found: Sweep) -> Judged:
    slope = float(found[max(found)].speedup.mean() - found[min(found)].speedup.mean())
    return f"{slope:+.2f}", abs(slope) <= 0.1
