"""The form of every window table in an epoch: split or combined.

The forms of an epoch follow from the manifest of the one before, so an epoch that is repeated after a crash has the
same forms again. ``rheostat.planning.enorm.form_watch`` decides when they change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rheostat.choices import LayoutChoice
from rheostat.planning.enorm.form_watch import FormWatch, IngestSample, observe
from rheostat.planning.enorm.splitting import Form

Stored = Mapping[str, Mapping[str, Any]]
"""By table, its watch as a manifest has it."""


@dataclass(frozen=True)
class NewForm:
    """A table whose form is new in an epoch.

    Attributes:
        table: name of the table.
        form: its form from this epoch on.
        reason: why, in words and numbers.
    """

    table: str
    form: Form
    reason: str


@dataclass(frozen=True)
class TableForms:
    """Says which tables are combined.

    Attributes:
        choice: ``auto``, or the form of all tables that can have it.
        combinable: the tables that may be combined; the others are always split.

    >>> forms = TableForms("auto", ("by_user",))
    >>> stored = forms.after({}, {"by_user": IngestSample(4, 100_000, 98_000)})
    >>> forms.combined(stored), [change.table for change in forms.changes(stored, 5)]
    (frozenset({'by_user'}), ['by_user'])
    """

    choice: LayoutChoice = "auto"
    combinable: tuple[str, ...] = ()

    def combined(self, stored: Stored) -> frozenset[str]:
        """The tables that are combined in the epoch after the one with this manifest."""
        if self.choice != "auto":
            return frozenset(self.combinable if self.choice == "combined" else ())
        return frozenset(t for t in self.combinable if t in stored and stored[t]["form"] == Form.COMBINED)

    def changes(self, stored: Stored, epoch: int) -> list[NewForm]:
        """The tables whose form is new in an epoch, which follows the one with this manifest."""
        if self.choice != "auto":
            return []
        watches = {t: FormWatch.from_json(stored[t]) for t in self.combinable if t in stored}
        return [NewForm(t, w.form, w.reason) for t, w in watches.items() if w.reason and w.since == epoch]

    def after(self, stored: Stored, samples: Mapping[str, IngestSample]) -> dict[str, dict[str, Any]]:
        """What the manifest of an epoch stores.

        Args:
            stored: what the manifest before has.
            samples: by table, what the epoch measured.
        """
        kept = {table: dict(value) for table, value in stored.items()}
        if self.choice != "auto":
            return kept
        for table in self.combinable:
            if table in samples:
                watch = FormWatch.from_json(stored[table]) if table in stored else FormWatch()
                kept[table] = observe(watch, samples[table]).to_json()
        return kept
