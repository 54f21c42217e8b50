"""How much POSG's gain depends on details that the paper leaves open (section III)."""

from __future__ import annotations

from dataclasses import replace

from papers.claims import Claim
from papers.paper_run import Run
from papers.posg.testbed.streams import GroupingTrials, StreamSetting, trial

LETTER = StreamSetting(warm=False, count_idle=False, resync=False, skip_new_cells=False, estimate_unseen=False)
"""The paper's text taken literally."""

_CELLS = replace(LETTER, skip_new_cells=True, estimate_unseen=True)
READINGS = {
    "literal: cold start, no idle time, slots asked only after new sketches, empty cells count as 0": LETTER,
    "cells that were empty skipped in equation 1": replace(LETTER, skip_new_cells=True),
    "and unseen items estimated by the mean cell": _CELLS,
    "and a warm start": replace(_CELLS, warm=True),
    "and idle time counted by slots": replace(_CELLS, warm=True, count_idle=True),
    "and slots asked again every k windows": StreamSetting(),
}
"""Settings by description. Each departs from the text in one more detail; the last one is our version."""

_SKEWS = (1.0, 0.0, 2.5)


def reproduce(run: Run) -> list[Claim]:
    """Measure the gain over round robin under each reading of the text."""
    streams, skews, gains = range(10 if run.quick else 100), _SKEWS[::2] if run.quick else _SKEWS, {}
    for name, setting in run.each("readings of the text", list(READINGS.items())):
        for skew in skews:
            trials = [trial(replace(setting, skew=skew), run.seed, number) for number in streams]
            gains[name, skew] = GroupingTrials.of(trials).gain
    rows = [[name, *(f"{gains[name, skew]:.4f}" for skew in skews)] for name in READINGS]
    run.table("readings", ["reading", *(f"gain_zipf_{skew}" for skew in skews)], rows)
    letter, *others = READINGS
    steps = "; ".join(f"{name}: {gains[name, 1.0]:+.0%} ({gains[name, 2.5]:+.0%})" for name in others)
    return [
        Claim(
            "letter",
            "taking the paper's text literally, POSG gains 20 % or more over round robin with Zipf 1.0",
            "25 %",
            f"{gains[letter, 1.0]:+.1%}",
            gains[letter, 1.0] >= 0.2,
            f"With Zipf 2.5 the gain is {gains[letter, 2.5]:+.0%}.",
            detail="Taken literally, a slot that was idle counts as behind and is sent all the work it seems to have "
            "missed, and much of the stream passes before sketches are stable. The gain with one departure from the "
            f"text after the other, with Zipf 2.5 in brackets: {steps}. The first two are about dividing by empty "
            "cells (W / F where F is 0), which the text does not mention. The last two are in the authors' published "
            "implementation. Other rows judge POSG with all of these except the warm start.",
        )
    ]
