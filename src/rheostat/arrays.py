"""NumPy array types shared by policies, workloads and the simulator."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
"""Measured or computed values; NaN means unknown."""

Ints = npt.NDArray[np.int64]
"""Counts, or numbers of shards, slots or nodes; -1 means none."""

Flags = npt.NDArray[np.bool_]
"""One boolean per shard, slot or node."""
