"""Converts cost sketches to bytes and back: small enough for a message, and readable by every later version.

The bytes are a header (magic, version, rows, columns, seed), the counts and then the seconds of all cells, and a
checksum. All numbers are little-endian, and nothing is pickled. ``to_text`` has only the cells that are not empty, with
seconds in single precision, compressed: for sketches with many cells, which travel with every epoch.
"""

from __future__ import annotations

import base64
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


_SPARSE = 2
"""Version of the format with the cells that are not empty."""

_NONZERO = struct.Struct("<I")


def to_text(sketch: CostSketch) -> str:
    """Return a sketch as short text; seconds are rounded to seven digits.

    >>> len(to_text(CostSketch.empty(4, 4096).updated([1, 2], [0.5, 1.0]))) < 200
    True
    """
    counts, times = sketch.frequencies.ravel(), sketch.times.ravel()
    cells = np.flatnonzero(counts)
    steps = np.diff(cells, prepend=0).astype("<u4").tobytes()
    body = _NONZERO.pack(len(cells)) + steps + counts[cells].astype("<i8").tobytes()
    body += times[cells].astype("<f4").tobytes()
    header = _HEADER.pack(_MAGIC, _SPARSE, *sketch.shape, sketch.seed)
    packed = header + zlib.compress(body, 1)
    return base64.b64encode(packed + _CHECKSUM.pack(zlib.crc32(packed))).decode()


def from_text(text: str) -> CostSketch:
    """Return the sketch from the text of ``to_text``.

    >>> from_text(to_text(CostSketch.empty().updated([1], [2.0]))).costs([1]).tolist()
    [2.0]
    """
    try:
        data = base64.b64decode(text, validate=True)
        packed, (checksum,) = data[: -_CHECKSUM.size], _CHECKSUM.unpack(data[-_CHECKSUM.size :])
        magic, version, rows, columns, seed = _HEADER.unpack_from(packed)
        if zlib.crc32(packed) != checksum or magic != _MAGIC:
            raise ValueError("checksum")
    except (ValueError, struct.error):
        raise ConfigurationError("the text of a cost sketch is damaged or incomplete: send the sketch again") from None
    if version != _SPARSE:
        raise ConfigurationError(
            f"a cost sketch as text of format {version} needs another Rheostat: this one reads format {_SPARSE}"
        )
    body = zlib.decompress(packed[_HEADER.size :])
    (filled,) = _NONZERO.unpack_from(body)
    at = _NONZERO.size
    cells = np.cumsum(np.frombuffer(body, "<u4", filled, at).astype(np.int64))
    frequencies, times = np.zeros(rows * columns, np.int64), np.zeros(rows * columns)
    frequencies[cells] = np.frombuffer(body, "<i8", filled, at + 4 * filled)
    times[cells] = np.frombuffer(body, "<f4", filled, at + 12 * filled)
    return CostSketch(frequencies.reshape(rows, columns), times.reshape(rows, columns), seed)
