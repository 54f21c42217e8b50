"""Draw figures in one style and write them to a file. Matplotlib is loaded when the first figure is drawn."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from rheostat.extras import load

COLOURS = ("#2b6cb0", "#e27024", "#30885c", "#805ad5", "#b02a2a", "#4a5568", "#bb7b20", "#0a8fa9")
"""Colours of the series; they can be told apart in print and by colour-blind readers."""

_STYLE: Any = {
    "font.size": 9.0,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "svg.hashsalt": "rheostat",  # identical figures give identical files
    "svg.fonttype": "none",
}


@contextmanager
def figure(
    path: Path, title: str, rows: int = 1, columns: int = 1, width: float = 4.2, height: float = 2.8
) -> Iterator[npt.NDArray[np.object_]]:
    """Yield an array of axes, ``rows`` x ``columns``, to draw on; write the figure when the block ends.

    Args:
        path: the file to write, .svg or .png; missing folders are created.
        title: text above all axes.
        rows: number of rows of axes.
        columns: number of columns of axes.
        width: width of each column in inches.
        height: height of each row in inches.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "line.svg"
    >>> with figure(path, "A line") as axes:
    ...     _ = axes[0, 0].plot([0, 1], [0, 1])
    >>> path.read_text().startswith("<?xml")
    True
    """
    matplotlib, figures = load("matplotlib", "a figure"), load("matplotlib.figure", "a figure")
    with matplotlib.rc_context(_STYLE):
        drawing = figures.Figure(figsize=(width * columns, height * rows), layout="constrained")
        axes: npt.NDArray[np.object_] = np.array(drawing.subplots(rows, columns, squeeze=False), dtype=np.object_)
        for axis in axes.flat:
            cast(Any, axis).set_prop_cycle(color=COLOURS)
        drawing.suptitle(title, fontsize=10)
        yield axes
        path.parent.mkdir(parents=True, exist_ok=True)
        drawing.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
