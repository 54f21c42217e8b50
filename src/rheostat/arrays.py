"""The array types that decisions and workloads are made of."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
"""Measured or computed values; NaN where a value is not known."""

Ints = npt.NDArray[np.int64]
"""Counts, or numbers of shards, slots and nodes; -1 for none."""

Flags = npt.NDArray[np.bool_]
"""One answer of yes or no for each shard, slot or node."""
