"""StreamSwitch: what the alert threshold and the interval between examinations do (section 6.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from papers.claims import Claim
from papers.run import Run
from papers.side_by_side import Bench
from papers.streamswitch.runs import ASKING, ASKING_LB, DRS, DRS_LB, STATIC, words
from papers.streamswitch.waves import NOTE, Ridden, Wave, mean, rate, ride, slots, treated

SPEED = 4_000.0
"""Rows per second of a slot. Ours: section 6.4's; the paper prints none for this query."""

ALERT, INTERVAL = "alert threshold l", "interval delta"
USUAL = 0.1
"""Seconds of both parameters, while the other is varied."""

KINDS = ("scale in", "balance", "scale out")

_STEEP = "The rate of a quick run rises two and a half times as fast as that of a full one: its period is 4 minutes."
_EVEN = (
    "The interval makes no clear difference here: between neighbouring ones the number of slots differs as much as "
    "between 0.1 s and 0.5 s, and with other seeds it is lower with 0.5 s. Rates change within minutes, so half a "
    "second later is not too late."
)

Found = Mapping[str, Mapping[float, Sequence[Ridden]]]


def reproduce(bench: Bench) -> list[Claim]:
    """Figures 10 and 11."""
    run = bench.run
    repeats, seconds, warm_up = (1, 240.0, 10.0) if run.quick else (1, 1200.0, 60.0)
    base = Wave("q8", SPEED, 30e3, seconds if run.quick else 600.0, seconds, warm_up)
    intervals, alerts = ((0.5,), (0.02, 0.5)) if run.quick else ((0.02, 0.05, 0.2, 0.5),) * 2
    varied = {
        # Those with short intervals take longest.
        **{(INTERVAL, v): replace(base, interval=v) for v in intervals},
        **{(ALERT, v): replace(base, alert=v) for v in alerts},
        (ALERT, USUAL): base,
    }
    waves = [replace(wave, seed=run.seed + i) for wave in varied.values() for i in range(repeats)]
    done = bench.each("parameters", ride, waves)
    runs = {each: done[k * repeats : (k + 1) * repeats] for k, each in enumerate(varied)}
    runs[INTERVAL, USUAL] = runs[ALERT, USUAL]
    found = {name: {v: runs[n, v] for n, v in sorted(runs) if n == name} for name in (ALERT, INTERVAL)}
    rivals = [] if run.quick else bench.each("parameters: other policies", ride, others(base))
    return claims(run, found, rivals)


def others(base: Wave) -> list[Wave]:
    """The other policies; fixed slots for the mean rate, and twice as many."""
    count = round(30e3 / SPEED)
    fixed = [replace(base, kind=STATIC, slots=n) for n in (round(1.25 * count), 2 * count)]
    return [*(replace(base, kind=kind) for kind in (DRS, DRS_LB, ASKING, ASKING_LB)), *fixed]


def claims(run: Run, found: Found, rivals: Sequence[Ridden]) -> list[Claim]:
    """The figures, and what is claimed of them."""
    _draw(run, found)
    success = [mean(each, rate) for by in found.values() for each in by.values()]
    used = {name: {v: mean(each, slots) for v, each in by.items()} for name, by in found.items()}
    counts = {name: {v: _counts(each) for v, each in by.items()} for name, by in found.items()}
    least, most = min(found[ALERT]), max(found[INTERVAL])
    balanced = {v: c["balance"] / max(c["balance"] + c["scale out"], 1.0) for v, c in counts[ALERT].items()}
    low, high = ([s for v, s in balanced.items() if (v <= USUAL) == small] for small in (True, False))
    pairs = [(c["scale in"], c["scale out"]) for by in counts.values() for c in by.values()]
    apart = max(abs(a - b) / max(a, b, 1.0) for a, b in pairs)
    larger = used[ALERT][least] > used[ALERT][USUAL] and used[INTERVAL][most] > used[INTERVAL][USUAL]
    why = _STEEP if run.quick else ""
    length = "one period of 4 minutes" if run.quick else "20 minutes"
    result = [
        Claim(
            "fig10-success",
            "success hardly depends on the alert threshold l or the interval delta, from 0.02 to 0.5 s",
            "does not get affected much",
            f"{min(success):.2%} to {max(success):.2%}",
            max(success) - min(success) < 0.02,
            f"Hardly: by less than 2 %. {NOTE} One run of {length} each, not fifteen of 30. A slot serves {SPEED:g} "
            f"rows a second, which is ours. {why}".strip(),
        ),
        Claim(
            "fig10-slots",
            f"slightly more slots are used with l = {least:g} s and with delta = {most:g} s than with {USUAL:g} s",
            "slightly larger",
            f"l: {_series(used[ALERT])}; delta: {_series(used[INTERVAL])}",
            larger,
            "" if larger else _STEEP if run.quick else _EVEN,
        ),
        Claim(
            "fig11-balance",
            "up to l = 0.1 s most severe slots are cured by balancing; above, more by scaling out",
            "load balancing within 100 ms, more scaling out beyond",
            "share of balancing in both: " + "; ".join(f"l = {v:g} s {share:.0%}" for v, share in balanced.items()),
            min(low) > 0.5 and max(high) < min(low),
            why,
        ),
        Claim(
            "fig11-symmetric",
            "scale-ins and scale-outs are about as many, whatever the parameters",
            "very similar",
            f"apart by {apart:.0%} at most",
            apart < 0.25,
            "Similar: within a quarter.",
        ),
    ]
    return [*result, _above(found, rivals)] if rivals else result


def _above(found: Found, rivals: Sequence[Ridden]) -> Claim:
    """Whether no other policy does as well as StreamSwitch does with the worst parameters."""
    every = [r.outcome for by in found.values() for each in by.values() for r in each]
    worst, most = min(every, key=lambda o: o.rate), max(every, key=lambda o: o.slots)
    above = [r.outcome for r in rivals if r.outcome.slots <= most.slots and r.outcome.rate >= worst.rate]
    return Claim(
        "fig10-others",
        "whatever the parameters, no other policy does as well with as many slots",
        "still outperforms other solutions",
        "; ".join(words(r.outcome) for r in rivals) + f"; ours {worst.rate:.2%} or more with {most.slots:.2f} or less",
        not above,
        "Rows spread evenly and rates rise slowly, which M/M/k can follow." if above else "",
    )


def _counts(found: Sequence[Ridden]) -> dict[str, float]:
    return {kind: mean(found, treated(kind)) for kind in KINDS}


def _series(values: Mapping[float, float]) -> str:
    return ", ".join(f"{value:.2f} at {v:g} s" for v, value in values.items())


def _draw(run: Run, found: Found) -> None:
    values = {"success (%)": lambda r: 100 * rate(r), "slots": slots}
    header = ("parameter", "seconds", "success (%)", "slots", *KINDS)
    rows = [
        (name, v, *(mean(each, value) for value in values.values()), *_counts(each).values())
        for name, by in found.items()
        for v, each in by.items()
    ]
    run.table("fig10", header, rows)
    with run.figure("fig10", "Success and slots by alert threshold and interval", columns=2) as axes:
        for column, (label, value) in enumerate(values.items()):
            for name, by in found.items():
                line = [mean(each, value) for each in by.values()]
                axes[0, column].plot(list(by), line, marker="o", ms=3, label=name)
            axes[0, column].set(xscale="log", xlabel="seconds", ylabel=label)
        axes[0, 0].set(ylim=(90, 100.5))
        axes[0, 1].set(ylim=(0, None))
        axes[0, 1].legend()
    with run.figure("fig11", "Treatments by alert threshold and interval", columns=2) as axes:
        for column, (name, by) in enumerate(found.items()):
            for kind in KINDS:
                line = [mean(each, treated(kind)) for each in by.values()]
                axes[0, column].plot(list(by), line, marker="o", ms=3, label=kind)
            axes[0, column].set(xscale="log", xlabel=f"{name} (s)", ylabel="treatments")
        axes[0, 0].legend()
