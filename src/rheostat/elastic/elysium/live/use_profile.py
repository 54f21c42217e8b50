"""The profile of an operator, learned from epochs: what a row and a task cost, and how many rows reach it.

It stands for the paper's selectivity and CPU profilers (sections 3.2 and 4). The seconds that a slot holds its core in
an epoch are a straight line over its rows: a fixed part per task, and a part per row. Only sums are kept, which fade by
half in every half-life. So a profile is a dozen numbers, follows operators whose cost changes, and can be stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace

import numpy as np

from rheostat.elastic.elysium.live.epoch_use import OperatorUse
from rheostat.elastic.elysium.profiles.profile import Line
from rheostat.errors import ConfigurationError

_DISTINCT = 0.05
"""Least relative spread of the rows of slots from which on the fixed part can be told from the part per row."""


@dataclass(frozen=True)
class UseProfile:
    """What is known of an operator. All sums fade; a slot in an epoch is one reading.

    Attributes:
        weight: number of readings.
        rows: sum of the rows of readings.
        seconds: sum of their core seconds.
        rows2: sum of the squares of the rows.
        product: sum of rows times core seconds.
        missed: sum of what the line, as known before, missed of the core seconds.
        source_rows: sum of the rows that the sources gave in the same epochs.
        computing: sum of the seconds of computing among the core seconds.
        computed: sum of the core seconds of epochs in which computing was measured.
        memory: largest memory of a slot in bytes, which fades too.

    >>> use = OperatorUse(np.array([100.0, 300.0]), np.array([0.12, 0.32]))
    >>> profile = UseProfile().after(use, source_rows=800.0)
    >>> profile.line, round(profile.selectivity, 3)
    (Line(base=0.02, slope=0.001), 0.5)
    """

    weight: float = 0.0
    rows: float = 0.0
    seconds: float = 0.0
    rows2: float = 0.0
    product: float = 0.0
    missed: float = 0.0
    source_rows: float = 0.0
    computing: float = 0.0
    computed: float = 0.0
    memory: float = 0.0

    @property
    def known(self) -> bool:
        """True if it is known what a row costs."""
        return self.rows > 0

    @property
    def line(self) -> Line:
        """Core seconds of a task (``base``) and of a row (``slope``); neither is negative."""
        if not self.known:
            return Line(0.0, 0.0)
        spread = self.rows2 / self.weight - (self.rows / self.weight) ** 2
        if spread <= (_DISTINCT * self.rows / self.weight) ** 2:
            return Line(0.0, self.seconds / self.rows)  # it cannot be told apart: all is put down to the rows
        slope = (self.product / self.weight - self.rows * self.seconds / self.weight**2) / spread
        base = (self.seconds - slope * self.rows) / self.weight
        if slope < 0:
            return Line(0.0, self.seconds / self.rows)
        if base < 0:
            return Line(0.0, self.product / self.rows2)
        return Line(round(base, 12), round(slope, 12))

    @property
    def selectivity(self) -> float:
        """Rows that reach the operator per row of the sources; NaN if unknown."""
        return self.rows / self.source_rows if self.source_rows > 0 else float("nan")

    @property
    def error(self) -> float:
        """By what share the line missed the core seconds; NaN if unknown."""
        return self.missed / self.seconds if self.seconds > 0 else float("nan")

    @property
    def computing_share(self) -> float:
        """Share of the core seconds in which slots compute instead of waiting; NaN if unknown."""
        return self.computing / self.computed if self.computed > 0 else float("nan")

    def after(self, use: OperatorUse, source_rows: float) -> UseProfile:
        """Return the profile after one more epoch.

        Args:
            use: what the epoch measured of the operator.
            source_rows: rows that the sources gave in the epoch; NaN if unknown.
        """
        rows, seconds = use.total
        expected = self.line(use.rows)
        computes = np.isfinite(use.cpu)
        return UseProfile(
            weight=self.weight + len(use.rows),
            rows=self.rows + rows,
            seconds=self.seconds + seconds,
            rows2=self.rows2 + float(use.rows @ use.rows),
            product=self.product + float(use.rows @ use.seconds),
            missed=self.missed + (float(np.abs(use.seconds - expected).sum()) if self.known else 0.0),
            source_rows=self.source_rows + (source_rows if np.isfinite(source_rows) else 0.0),
            computing=self.computing + (min(use.cpu, seconds) if computes else 0.0),
            computed=self.computed + (seconds if computes else 0.0),
            memory=max(self.memory, use.memory) if np.isfinite(use.memory) else self.memory,
        )

    def faded(self, share: float) -> UseProfile:
        """Return the profile in which everything so far counts only this share of what it did.

        >>> use = OperatorUse(np.array([100.0, 300.0]), np.array([0.12, 0.32]))
        >>> old = UseProfile().after(use, 800.0).faded(0.5)
        >>> old.weight, old.line
        (1.0, Line(base=0.02, slope=0.001))
        """
        return UseProfile(*(getattr(self, f.name) * share for f in fields(self)))

    def to_json(self) -> dict[str, float]:
        """Return the profile as plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, plain: Mapping[str, float]) -> UseProfile:
        """Return the profile that ``to_json`` gave.

        >>> UseProfile.from_json(UseProfile(weight=2.0, rows=10.0, seconds=1.0).to_json()).rows
        10.0
        """
        names = [f.name for f in fields(cls)]
        values = {name: float(plain.get(name, 0.0)) for name in names}
        if not all(0 <= value < np.inf for value in values.values()):
            raise ConfigurationError(f"a profile has values that are negative or not finite: {values}")
        return replace(cls(), **values)
