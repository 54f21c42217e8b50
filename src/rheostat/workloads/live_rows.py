"""Rows for a live run: when each is due, and its key. The same seed gives the same rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rheostat.arrays import Floats, Ints
from rheostat.errors import ConfigurationError


@dataclass(frozen=True, eq=False)
class LiveRows:
    """A schedule of rows.

    Attributes:
        times: seconds from the begin at which each row is due, sorted.
        keys: the key of each row.
    """

    times: Floats
    keys: Ints

    def __len__(self) -> int:
        return len(self.times)


@dataclass(frozen=True)
class HotKey:
    """A key that is more popular than all others, for a while.

    Attributes:
        share: its share of all rows, from 0 to 1.
        every: seconds after which another key takes its place.
    """

    share: float
    every: float


def live_rows(
    rates: npt.ArrayLike, *, step: float = 1.0, keys: int = 1024, hot: HotKey | None = None, seed: int = 1
) -> LiveRows:
    """Return rows at rates that change, at equal distances within a step, with keys that are equally popular.

    Args:
        rates: rows per second in every step.
        step: length of a step in seconds.
        keys: number of keys.
        hot: a key with a share of its own; None if there is none.
        seed: seed of the random keys.

    >>> rows = live_rows([2, 4], keys=10)
    >>> rows.times.tolist()
    [0.5, 1.0, 1.25, 1.5, 1.75, 2.0]
    >>> hot = live_rows([1000] * 4, hot=HotKey(share=0.5, every=2.0))
    >>> [int(np.bincount(hot.keys[hot.times <= 2]).max() > 900), len(np.unique(hot.keys)) > 500]
    [1, True]
    """
    each = np.asarray(rates, dtype=np.float64)
    if each.ndim != 1 or not each.size or not np.isfinite(each).all() or each.min() < 0 or step <= 0:
        raise ConfigurationError("rates: must have at least one step; rates must be finite and not negative")
    rng = np.random.default_rng(seed)
    so_far = np.concatenate([[0.0], np.cumsum(each * step)])
    number = np.arange(1, int(so_far[-1] + 1e-9) + 1)
    times = np.interp(number, so_far, np.arange(len(so_far)) * step)
    drawn = rng.integers(0, keys, len(number))
    if hot is not None:
        eras = (times // hot.every).astype(np.int64)
        popular = rng.permutation(keys)[: eras.max(initial=0) + 1]
        drawn = np.where(rng.random(len(number)) < hot.share, popular[eras % len(popular)], drawn)
    return LiveRows(times, drawn)
