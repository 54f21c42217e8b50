"""Converts cost sketches to bytes and back: small enough for a message, and readable by every later version.

The bytes are a header (magic, version, rows, columns, seed), the counts and then the seconds of all cells, and a
checksum. All numbers are little-endian, and nothing is pickled.
"""

from __future__ import annotations

import struct
import zlib

import numpy as np

from rheostat.elastic.posg.sketch import CostSketch
from rheostat.errors import ConfigurationError

VERSION = 1
"""Version of the format. Readers refuse newer versions."""

_MAGIC = b"RHCS"
_HEADER = struct.Struct("<4sHIIQ")
_CHECKSUM = struct.Struct("<I")

_CELL = 16
"""Bytes of a cell: its count and its seconds."""


def to_bytes(sketch: CostSketch) -> bytes:
    """Return a sketch as bytes.

    >>> len(to_bytes(CostSketch.empty()))
    3482
    """
    header = _HEADER.pack(_MAGIC, VERSION, *sketch.shape, sketch.seed)
    body = header + sketch.frequencies.astype("<i8").tobytes() + sketch.times.astype("<f8").tobytes()
    return body + _CHECKSUM.pack(zlib.crc32(body))


def from_bytes(data: bytes) -> CostSketch:
    """Return the sketch from the bytes of ``to_bytes``.

    >>> from_bytes(to_bytes(CostSketch.empty().updated([1], [2.0]))).costs([1]).tolist()
    [2.0]
    """
    if len(data) < _HEADER.size + _CHECKSUM.size:
        raise ConfigurationError(f"{len(data)} bytes are too few for a cost sketch: send the sketch again")
    magic, version, rows, columns, seed = _HEADER.unpack_from(data)
    if magic != _MAGIC:
        raise ConfigurationError(f"not a cost sketch: the bytes begin with {magic!r} instead of {_MAGIC!r}")
    if version > VERSION:
        raise ConfigurationError(
            f"a cost sketch of format {version} needs a newer Rheostat: this one reads formats up to {VERSION}"
        )
    size = _HEADER.size + rows * columns * _CELL
    if len(data) != size + _CHECKSUM.size or zlib.crc32(data[:size]) != _CHECKSUM.unpack_from(data, size)[0]:
        raise ConfigurationError("the bytes of a cost sketch are damaged or incomplete: send the sketch again")
    cells = rows * columns
    frequencies = np.frombuffer(data, "<i8", cells, _HEADER.size).astype(np.int64).reshape(rows, columns)
    times = np.frombuffer(data, "<f8", cells, _HEADER.size + cells * 8).astype(np.float64).reshape(rows, columns)
    frequencies.setflags(write=False)
    times.setflags(write=False)
    return CostSketch(frequencies, times, seed)
