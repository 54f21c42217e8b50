"""StreamSwitch's figures 7 to 9: the seconds around one treatment of each kind (section 6.2)."""

from __future__ import annotations

from collections.abc import Sequence

from papers.claims import Claim, Judged, versions
from papers.paper_run import Run
from papers.streamswitch.figure_05_policies import CHOSEN, MARGIN
from papers.streamswitch.testbed.clips import Clip, WatchedDay
from papers.streamswitch.testbed.trading_day import SPEED

_FIGURES = {"scale out": "fig07", "balance": "fig08", "scale in": "fig09"}


def claims(run: Run, published: WatchedDay, ours: WatchedDay) -> list[Claim]:
    """Draw the figures for the published version and return their claims."""
    for clip in published.clips:
        _draw(run, clip)
    since = "in the calm part of a quick run" if run.quick else "after minute 56, as in the paper"
    return [
        versions(
            "fig7-load",
            "a slot hands shards to a new slot when its arrival rate is above 80% of its service rate",
            "when the arrival rate approaches the service rate",
            (_load(seen.clips) for seen in (published, ours)),
            note=f"The first treatment of each kind that moves three shards or more, {since}. A slot serves {SPEED:g} "
            "rows/s.",
            chosen=CHOSEN,
        ),
        after(published.clips, ours.clips),
    ]


def after(published: Sequence[Clip], ours: Sequence[Clip]) -> Claim:
    """Return the claim about the latency of shards that move."""
    return versions(
        "fig7-9-back",
        "shards that move stay below 2 s of latency and are back within 1 s after at most 10 s, with every treatment",
        "slightly overshoots 1 s, returns quickly",
        (_back(published), _back(ours)),
        chosen=CHOSEN,
        detail="Mean latency of the shards that move, in half seconds." + _not_back(published),
    )


def _load(clips: Sequence[Clip]) -> Judged:
    out = next((clip for clip in clips if clip.action == "scale out"), None)
    if out is None:
        return "no slot was added", False
    return f"{out.load:.0%} at minute {out.minute:.2f}, with {out.moved} shards", out.load > 1 - MARGIN


def _back(clips: Sequence[Clip]) -> Judged:
    words = "; ".join(f"{c.action}: up to {c.highest:.2f} s, back after {c.back():.1f} s" for c in clips)
    return words, sum(map(_calm, clips)) == len(_FIGURES)


def _calm(clip: Clip) -> bool:
    return clip.highest < 2.0 and clip.back() < 10.0


def _not_back(clips: Sequence[Clip]) -> str:
    """Explain treatments that are not as claimed: there was none, or rows were late before it."""
    missing = [name for name in _FIGURES if name not in {clip.action for clip in clips}]
    none = [f" There was no treatment to {name} in that time." for name in missing]
    late = [
        f" Before the treatment to {c.action}, the shards already had a latency of {c.before:.2f} s, on a slot that "
        f"received {c.load:.0%} of the rows it can serve."
        for c in clips
        if not _calm(c)
    ]
    return "".join((*none, *late))


def _draw(run: Run, clip: Clip) -> None:
    title = f"{clip.action.capitalize()} at minute {clip.minute:.2f}: {clip.moved} shards"
    slots = f"slot {clip.source}", f"slot {clip.target}"
    with run.figure(_FIGURES[clip.action], title, columns=2) as axes:
        for values, label in zip(clip.arrivals.T, slots, strict=True):
            axes[0, 0].plot(clip.time, values, lw=1, label=label)
        axes[0, 0].axhline(SPEED, color="k", lw=0.6, ls=":")
        axes[0, 0].set(xlabel="seconds after the decision", ylabel="rows per second")
        for values, label in zip(clip.latency.T, (*slots, "shards that move"), strict=True):
            axes[0, 1].plot(clip.time, values, lw=1, label=label)
        axes[0, 1].axhline(1.0, color="k", lw=0.6, ls=":")
        axes[0, 1].set(xlabel="seconds after the decision", ylabel="mean latency (s)")
        axes[0, 0].legend()
        axes[0, 1].legend()
