"""POSG's figure 7: completion time by the number of distinct execution times."""

from __future__ import annotations

from papers.claims import Claim, Judged, versions
from papers.posg.testbed.streams import StreamSetting
from papers.posg.testbed.sweep import CHOSEN, Sweep, draw_both, draw_completion, mean_speedup, sweep
from papers.side_by_side import Bench


def reproduce(bench: Bench) -> list[Claim]:
    """Reproduce the figure and judge its claims."""
    values = (2, 16, 64, 1024) if bench.run.quick else (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
    found = sweep(bench, "fig. 7: execution times", {v: StreamSetting(values=v) for v in values})
    title = "Mean completion time by number of execution times"
    draw_both(draw_completion, bench.run, "fig07", title, "w_n", found)
    return [
        versions(
            "fig7-speedup",
            "over all numbers of distinct execution times, the mean speed-up over round robin is 1.19",
            "1.19",
            found.each(lambda each: (f"{mean_speedup(each):.2f}", mean_speedup(each) >= 1.19)),
            chosen=CHOSEN,
        ),
        versions(
            "fig7-few",
            "with 2 distinct execution times, POSG's completion times and their spread between streams are larger than "
            "with 16",
            "yes",
            found.each(_few),
            chosen=CHOSEN,
        ),
        versions(
            "fig7-many",
            "from 16 distinct execution times on, POSG's completion times change by less than 10 %",
            "slightly",
            found.each(_many),
            chosen=CHOSEN,
        ),
    ]


def _few(found: Sweep) -> Judged:
    (two, sixteen), (wide, narrow) = ([float(getattr(found[v].posg, of)()) for v in (2, 16)] for of in ("mean", "std"))
    return f"{two:.2f} s +- {wide:.2f}, {sixteen:.2f} s +- {narrow:.2f}", two > sixteen and wide > narrow


def _many(found: Sweep) -> Judged:
    level = {v: float(t.posg.mean()) for v, t in found.items()}
    late = max(abs(level[v] / level[16] - 1) for v in level if v >= 16)
    return f"{late:.1%}", late < 0.1
