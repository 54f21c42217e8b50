"""Cost sketches as bytes: small enough for a message, readable by every later version.

A header (magic, version, rows, columns, seed), the counts and the seconds of all cells, and a checksum of it all;
little-endian everywhere, nothing pickled.
"""

from __future__ import annotations

import struct
import zlib

import numpy as np

from rheostat.elastic.posg.sketch import CostSketch
from rheostat.errors import ConfigurationError

VERSION = 1
"""Of the bytes; a reader refuses what is newer than itself."""

_MAGIC = b"RHCS"
_HEADER = struct.Struct("<4sHIIQ")
_CHECK = struct.Struct("<I")
_CELL = 16


def to_bytes(sketch: CostSketch) -> bytes:
    """The sketch as bytes.

    >>> len(to_bytes(CostSketch.empty()))
    3482
    """
    header = _HEADER.pack(_MAGIC, VERSION, *sketch.shape, sketch.seed)
    body = header + sketch.frequencies.astype("<i8").tobytes() + sketch.times.astype("<f8").tobytes()
    return body + _CHECK.pack(zlib.crc32(body))


def from_bytes(data: bytes) -> CostSketch:
    """The sketch that was written.

    >>> from_bytes(to_bytes(CostSketch.empty().updated([1], [2.0]))).costs([1]).tolist()
    [2.0]
    """
    if len(data) < _HEADER.size + _CHECK.size:
        raise ConfigurationError(f"{len(data)} bytes are too few for a cost sketch")
    magic, version, rows, columns, seed = _HEADER.unpack_from(data)
    if magic != _MAGIC:
        raise ConfigurationError("these bytes are not a cost sketch")
    if version > VERSION:
        raise ConfigurationError(
            f"a cost sketch of format {version} needs a newer Rheostat; this one reads up to {VERSION}"
        )
    size = _HEADER.size + rows * columns * _CELL
    if len(data) != size + _CHECK.size or zlib.crc32(data[:size]) != _CHECK.unpack_from(data, size)[0]:
        raise ConfigurationError("the bytes of a cost sketch are damaged or cut short: send the sketch again")
    cells = rows * columns
    frequencies = np.frombuffer(data, "<i8", cells, _HEADER.size).astype(np.int64).reshape(rows, columns)
    times = np.frombuffer(data, "<f8", cells, _HEADER.size + cells * 8).astype(np.float64).reshape(rows, columns)
    frequencies.setflags(write=False)
    times.setflags(write=False)
    return CostSketch(frequencies, times, seed)
