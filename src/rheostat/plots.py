"""Figures in one style, written as SVG without a screen. Matplotlib is loaded when the first one is drawn."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from rheostat.extras import load

COLOURS = ("#2b6cb0", "#e27024", "#30885c", "#805ad5", "#b02a2a", "#4a5568", "#bb7b20", "#0a8fa9")
"""One colour per series, told apart also by people who see fewer colours, and in print."""

_STYLE: Any = {
    "font.size": 9.0,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "svg.hashsalt": "rheostat",  # the same figure is the same file
    "svg.fonttype": "none",
}


@contextmanager
def figure(
    path: Path, title: str, rows: int = 1, columns: int = 1, width: float = 4.2, height: float = 2.8
) -> Iterator[npt.NDArray[np.object_]]:
    """Axes to draw on, as an array of ``rows`` x ``columns``; the figure is written when the block ends.

    Args:
        path: ends in .svg or .png; its folder is made.
        title: text above all axes.
        rows: axes below one another.
        columns: axes beside one another.
        width: inches of each column.
        height: inches of each row.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "line.svg"
    >>> with figure(path, "A line") as axes:
    ...     _ = axes[0, 0].plot([0, 1], [0, 1])
    >>> path.read_text().startswith("<?xml")
    True
    """
    matplotlib, figures = load("matplotlib", "a figure"), load("matplotlib.figure", "a figure")
    with matplotlib.rc_context(_STYLE):
        drawn = figures.Figure(figsize=(width * columns, height * rows), layout="constrained")
        axes: npt.NDArray[np.object_] = np.array(drawn.subplots(rows, columns, squeeze=False), dtype=np.object_)
        for axis in axes.flat:
            cast(Any, axis).set_prop_cycle(color=COLOURS)
        drawn.suptitle(title, fontsize=10)
        yield axes
        path.parent.mkdir(parents=True, exist_ok=True)
        drawn.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
