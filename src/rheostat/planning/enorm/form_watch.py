"""Split or combined, decided while a query runs: the costs of section 5.1.1 with measured parameters.

*Split*: Spark aggregates rows to partials, and tasks ingest these. *Combined*: rows go to the tasks as they are, and
the task that keeps a key's state aggregates them. Both keep one partial per key and pane, so overlapping windows and
moved shards cost the same in either form, and those terms of the paper's model cancel out. What remains is the cost of
a row against that of a partial: Spark's hash table pays if many rows share a key and a pane, and is in the way if
hardly any do.

The model gives the cost of a row from the number of partials per row. Every epoch measures how far it is off, for the
form in use. The form changes if that saves enough for long enough; where the model cannot tell, the other form is
tried. ``rheostat.planning.table_forms`` calls ``observe`` after every epoch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from math import isnan, log, nan
from typing import Any

from rheostat.planning.enorm.splitting import Form, FormCost, cheaper_form

LEAST_ROWS = 50_000
"""Rows of an epoch below which its fixed cost hides that of rows, so that it tells nothing."""

_ROW = {Form.SPLIT: 0.30, Form.COMBINED: 0.80}
"""Microseconds that a row costs. Fitted, as the next, to epochs of 300,000 rows on two cores with 0.0003 to 1 partials
per row, with and without an exchange. Only ratios matter, because measured factors make up for the speed of a machine.
The costs of combined tables are fitted where the choice is close: with few keys a row costs 0.70."""

_PARTIAL = {Form.SPLIT: 1.00, Form.COMBINED: 0.26}
"""Microseconds that a partial costs in addition."""

_MARGIN = 0.10
"""Share of the current cost that a change must save."""

_CLEAR = 0.15
"""A change that saves more than this share is made at once, another one after it was better twice."""

_CURIOUS = 0.20
"""The other form is tried if the model expects it to cost at most so much more, and it was not measured lately."""

_TRIAL = 3
"""Epochs of a trial. The first of them compiles the plan and is not measured."""

_SMOOTHING = 0.5
"""Weight of the newest epoch."""

_FRESH = 100
"""Epochs after which a measured factor is forgotten: it may have been that of a busy moment."""

_SIMILAR = log(2)
"""A measured factor holds until the partials per row have changed by a factor of two."""


@dataclass(frozen=True)
class IngestSample:
    """What an epoch measured of a table.

    Attributes:
        epoch: number of the epoch.
        rows: rows that were ingested.
        partials: partials that they were aggregated to.
        seconds: how long the stage took; NaN if it did other work, too.

    >>> few_keys = IngestSample(epoch=0, rows=100_000, partials=500)
    >>> observe(FormWatch(), few_keys).form.value
    'split'
    """

    epoch: int
    rows: int
    partials: int
    seconds: float = nan


@dataclass(frozen=True)
class Measured:
    """What was measured of a form.

    Attributes:
        factor: measured over modelled seconds.
        ratio: the partials per row at that time.
        epoch: the newest epoch that it was measured in.
    """

    factor: float
    ratio: float
    epoch: int


@dataclass(frozen=True)
class FormWatch:
    """The form of a table, and what is known about both forms.

    Attributes:
        form: the form in use.
        since: the first epoch with this form.
        ratio: partials per row, smoothed; NaN before the first epoch with enough rows.
        measured: by form, what was measured of it.
        better: the number of epochs in a row for which the other form was better.
        trial: epochs that are left of a trial.
        reason: why the form is in use, in words and numbers.

    >>> watch = observe(FormWatch(), IngestSample(0, 100_000, 98_000, 0.2))
    >>> watch.form.value, watch.since, watch.reason
    ('combined', 1, '0.98 partials per row: combined 1.05 us a row, split 1.28 us a row')
    """

    form: Form = Form.SPLIT
    since: int = 0
    ratio: float = nan
    measured: Mapping[Form, Measured] = field(default_factory=dict, hash=False)
    better: int = 0
    trial: int = 0
    reason: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the watch as plain values, for the manifest."""
        measured = {form.value: asdict(seen) for form, seen in self.measured.items()}
        ratio = None if isnan(self.ratio) else self.ratio
        return {**vars(self), "form": self.form.value, "ratio": ratio, "measured": measured}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> FormWatch:
        """Return the watch that ``to_json`` gave.

        >>> watch = observe(FormWatch(), IngestSample(0, 100_000, 98_000, 0.2))
        >>> FormWatch.from_json(watch.to_json()) == watch
        True
        """
        measured = {Form(form): Measured(**seen) for form, seen in value["measured"].items()}
        ratio = nan if value["ratio"] is None else value["ratio"]
        return cls(**{**value, "form": Form(value["form"]), "ratio": ratio, "measured": measured})


def modelled(form: Form, ratio: float) -> float:
    """The seconds that a row costs in a form, before measured factors.

    Args:
        form: split or combined.
        ratio: partials per row.

    >>> [round(1e6 * modelled(form, ratio), 2) for form in Form for ratio in (0.01, 1.0)]
    [0.31, 1.3, 0.8, 1.06]
    """
    return 1e-6 * (_ROW[form] + _PARTIAL[form] * ratio)


def observe(watch: FormWatch, sample: IngestSample) -> FormWatch:
    """The form to use after another epoch.

    Args:
        watch: the result of the last observation.
        sample: what the epoch measured.

    >>> watch = FormWatch()
    >>> for epoch in range(3):
    ...     watch = observe(watch, IngestSample(epoch, 100_000, 1_000, 0.05))
    >>> watch.form.value, watch.since
    ('split', 0)
    """
    if sample.rows < LEAST_ROWS:
        return watch
    watch = _learn(watch, sample)
    costs = {form: modelled(form, watch.ratio) * _factor(watch, form) for form in Form}
    here, there = costs[watch.form], costs[watch.form.other]
    words = (
        f"{watch.ratio:.2g} partials per row: {watch.form.other} {1e6 * there:.2f} us a row, "
        f"{watch.form} {1e6 * here:.2f} us a row"
    )
    if watch.trial > 1 or (watch.trial == 1 and here <= there):
        return replace(watch, trial=watch.trial - 1)
    if watch.trial == 1:
        return _changed(watch, sample, f"the trial is over; {words}")
    choice = cheaper_form({f: FormCost(c, 0.0) for f, c in costs.items()}, watch.form, margin=_MARGIN)
    better = watch.better + 1 if choice.form is not watch.form else 0
    if better > 1 or choice.saved > _CLEAR * here:
        return _changed(watch, sample, words)
    untried = watch.form in watch.measured and not _known(watch, watch.form.other)
    if not better and untried and there <= (1 + _CURIOUS) * here:
        return replace(_changed(watch, sample, f"a trial; {words}"), trial=_TRIAL)
    return replace(watch, better=better)


def _learn(watch: FormWatch, sample: IngestSample) -> FormWatch:
    """Add an epoch to what is known. The first epoch with a form compiles its plan, so its seconds do not count."""
    watch = replace(watch, measured={f: m for f, m in watch.measured.items() if sample.epoch - m.epoch <= _FRESH})
    newest = sample.partials / sample.rows
    ratio = newest if isnan(watch.ratio) else watch.ratio + _SMOOTHING * (newest - watch.ratio)
    if isnan(sample.seconds) or sample.epoch <= watch.since:
        return replace(watch, ratio=ratio)
    factor = sample.seconds / (sample.rows * modelled(watch.form, newest))
    if _known(watch, watch.form):
        before = watch.measured[watch.form].factor
        factor = before + _SMOOTHING * (factor - before)
    return replace(watch, ratio=ratio, measured={**watch.measured, watch.form: Measured(factor, ratio, sample.epoch)})


def _known(watch: FormWatch, form: Form) -> bool:
    """True if a form was measured with about as many partials per row as now."""
    seen = watch.measured.get(form)
    return seen is not None and abs(log(max(seen.ratio, 1e-9) / max(watch.ratio, 1e-9))) <= _SIMILAR


def _factor(watch: FormWatch, form: Form) -> float:
    """The measured factor of a form; that of the other form if only that is known, because machines differ more."""
    for candidate in (form, form.other):
        if _known(watch, candidate):
            return watch.measured[candidate].factor
    return 1.0


def _changed(watch: FormWatch, sample: IngestSample, reason: str) -> FormWatch:
    return replace(watch, form=watch.form.other, since=sample.epoch + 1, better=0, trial=0, reason=reason)
