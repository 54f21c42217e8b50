"""Figures: written when the block ends, the same file every time, and no trace of their style elsewhere."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes

from rheostat.plots import COLOURS, figure


def drawn(path: Path, values: list[float]) -> bytes:
    with figure(path, "Rows & seconds <1>", columns=2) as axes:
        axes[0, 0].plot(values, label="ours")
        axes[0, 0].legend()
        axes[0, 1].bar([0, 1], [1, 2])
    return path.read_bytes()


def test_the_same_figure_is_the_same_file(tmp_path: Path) -> None:
    one, two = drawn(tmp_path / "a.svg", [1.0, 2.0]), drawn(tmp_path / "b.svg", [1.0, 2.0])
    assert one == two
    assert drawn(tmp_path / "c.svg", [1.0, 3.0]) != one


def test_an_svg_has_its_title_as_text_and_no_date(tmp_path: Path) -> None:
    text = drawn(tmp_path / "a.svg", [1.0]).decode()
    assert "Rows &amp; seconds &lt;1&gt;" in text
    assert "<dc:date>" not in text


def test_a_png_may_be_written_too(tmp_path: Path) -> None:
    assert drawn(tmp_path / "a.png", [1.0]).startswith(b"\x89PNG")


def test_the_folder_is_made_and_axes_come_in_rows_and_columns(tmp_path: Path) -> None:
    path = tmp_path / "some" / "where" / "a.svg"
    with figure(path, "title", rows=2, columns=3) as axes:
        assert axes.shape == (2, 3)
        assert all(isinstance(axis, Axes) for axis in axes.flat)
        assert not path.exists()
    assert path.exists()


def test_a_figure_that_fails_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "a.svg"

    def failing() -> None:
        with figure(path, "title"):
            raise ValueError("no data")

    with pytest.raises(ValueError, match="no data"):
        failing()
    assert not path.exists()


def test_the_style_is_gone_after_the_block(tmp_path: Path) -> None:
    before = dict(mpl.rcParams)
    drawn(tmp_path / "a.svg", [1.0])
    with pytest.raises(ZeroDivisionError), figure(tmp_path / "b.svg", "title"):
        _ = 1 / 0
    assert dict(mpl.rcParams) == before


def test_each_series_has_its_own_colour(tmp_path: Path) -> None:
    with figure(tmp_path / "a.svg", "title") as axes:
        lines = [axes[0, 0].plot([0, i])[0].get_color() for i in range(len(COLOURS))]
    assert tuple(lines) == COLOURS
    assert len(set(COLOURS)) == len(COLOURS)


def test_colours_are_told_apart_in_print() -> None:
    """In grey only lightness is left, of which 2 of 100 is about the least that shows (CIE 1976)."""
    rgb = np.array([[int(c[i : i + 2], 16) / 255 for i in (1, 3, 5)] for c in COLOURS])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    lightness = np.sort(116 * np.cbrt(linear @ [0.2126, 0.7152, 0.0722]) - 16)
    assert np.diff(lightness).min() > 2.0
