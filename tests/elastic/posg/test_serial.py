"""Sketches as bytes: read as they were written, or an error."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.elastic.posg import CostSketch, from_bytes, to_bytes
from rheostat.elastic.posg.serial import from_text, to_text
from rheostat.errors import ConfigurationError

QUICK = settings(deadline=None, max_examples=60)

SKETCH = CostSketch.empty(rows=2, columns=3, seed=5).updated([1, 2, 2], [0.5, 1.0, 2.0])


@QUICK
@given(
    st.integers(1, 5),
    st.integers(1, 40),
    st.integers(0, 2**64 - 1),
    st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), st.floats(0, 1e9)), max_size=30),
)
def test_bytes_are_read_as_they_were_written(
    rows: int, columns: int, seed: int, executions: list[tuple[int, float]]
) -> None:
    items, costs = zip(*executions, strict=True) if executions else ((), ())
    sketch = CostSketch.empty(rows, columns, seed).updated(np.array(items, dtype=np.int64), costs)
    again = from_bytes(to_bytes(sketch))
    assert (again.shape, again.seed) == (sketch.shape, seed)
    assert (again.frequencies == sketch.frequencies).all()
    assert (again.times == sketch.times).all()
    assert to_bytes(again) == to_bytes(sketch)
    # The sketch that was read can be updated and merged.
    assert again.updated([7], [1.0]).merged([sketch]).executions == 2 * len(executions) + 1


def test_the_layout_stays() -> None:
    """Byte by byte, as another program would read it."""
    data = to_bytes(SKETCH)
    assert data[:4] == b"RHCS"
    assert struct.unpack_from("<HIIQ", data, 4) == (1, 2, 3, 5)
    assert np.frombuffer(data, "<i8", 6, 22).tolist() == SKETCH.frequencies.ravel().tolist()
    assert np.frombuffer(data, "<f8", 6, 22 + 48).tolist() == SKETCH.times.ravel().tolist()
    assert struct.unpack_from("<I", data, 22 + 96) == (zlib.crc32(data[:-4]),)
    assert len(data) == 22 + 96 + 4


@QUICK
@given(st.integers(0, len(to_bytes(SKETCH)) - 1), st.integers(1, 255))
def test_a_changed_byte_is_noticed(position: int, change: int) -> None:
    data = bytearray(to_bytes(SKETCH))
    data[position] ^= change
    with pytest.raises(ConfigurationError, match="sketch"):
        from_bytes(bytes(data))


@QUICK
@given(st.integers(0, len(to_bytes(SKETCH)) - 1))
def test_a_cut_is_noticed(length: int) -> None:
    with pytest.raises(ConfigurationError, match="sketch"):
        from_bytes(to_bytes(SKETCH)[:length])


def test_a_newer_format_says_so() -> None:
    data = bytearray(to_bytes(SKETCH))
    struct.pack_into("<H", data, 4, 2)
    with pytest.raises(ConfigurationError, match="newer Rheostat"):
        from_bytes(bytes(data))


@QUICK
@given(
    st.integers(1, 5),
    st.integers(1, 4096),
    st.integers(0, 2**64 - 1),
    st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), st.floats(0, 1e9)), max_size=30),
)
def test_text_is_read_as_it_was_written(
    rows: int, columns: int, seed: int, executions: list[tuple[int, float]]
) -> None:
    items, costs = zip(*executions, strict=True) if executions else ((), ())
    sketch = CostSketch.empty(rows, columns, seed).updated(np.array(items, dtype=np.int64), costs)
    again = from_text(to_text(sketch))
    assert (again.shape, again.seed) == (sketch.shape, seed)
    assert (again.frequencies == sketch.frequencies).all()
    assert again.times == pytest.approx(sketch.times, rel=1e-6)


@pytest.mark.parametrize("damage", [lambda t: t[:-4], lambda t: t[:20] + "Zz9+" + t[24:], lambda _: "", lambda _: "?"])
def test_damaged_text_is_an_error(damage: Callable[[str], str]) -> None:
    with pytest.raises(ConfigurationError, match="the text of a cost sketch is damaged or incomplete"):
        from_text(damage(to_text(SKETCH)))
