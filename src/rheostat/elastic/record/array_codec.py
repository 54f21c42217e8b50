"""Arrays as short text and back, bit for bit.

An array becomes a list of its type, its shape, the form of its text, and the text:

====  ==========================================================================================
``c``  all items have the same bits: base64 of one item
``b``  base64 of all bytes
``z``  base64 of the bytes after zlib, where that is shorter; the first bytes of all items come first, then the second
       bytes, and so on, since numbers that are near each other have most of these in common
``r``  the number of an array with the same bits, in the same line or in the line before
====  ==========================================================================================

Counters and routing tables stay the same from epoch to epoch, so references save more than zlib does.
"""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode
from typing import Any

import numpy as np
import numpy.typing as npt

_LEVEL = 1
"""Of zlib: higher levels save a few percent, and take several times as long."""

_SMALL = 64
"""Bytes up to which an array is written as it is."""

_Key = tuple[str, tuple[int, ...], bytes]


class ArrayWriter:
    """Writes arrays as text. Call ``end_line`` after each line.

    >>> writer, reader = ArrayWriter(), ArrayReader()
    >>> text = writer.text(np.array([1.0, np.nan]))
    >>> text
    ['<f8', [2], 'b', 'AAAAAAAA8D8AAAAAAAD4fw==']
    >>> writer.text(np.array([1.0, np.nan]))
    ['r', 0]
    >>> reader.array(text).tolist(), reader.array(["r", 0]).tolist()
    ([1.0, nan], [1.0, nan])
    """

    def __init__(self) -> None:
        self._count = 0
        self._line: dict[_Key, int] = {}
        self._before: dict[_Key, int] = {}

    def text(self, array: npt.NDArray[Any]) -> list[Any]:
        """Return an array as a list that JSON can hold."""
        if array.dtype.hasobject:
            raise TypeError(f"an array of {array.dtype} cannot be recorded: use numbers or booleans")
        plain = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        key = plain.dtype.str, array.shape, plain.tobytes()
        known = self._line.get(key, self._before.get(key))
        if known is not None:
            self._line[key] = known
            return ["r", known]
        self._line[key] = self._count
        self._count += 1
        return [plain.dtype.str, list(array.shape), *_packed(plain, key[2])]

    def end_line(self) -> None:
        """Forget the arrays that only the line before had."""
        self._before, self._line = self._line, {}


class ArrayReader:
    """Reads what an ``ArrayWriter`` wrote, in the same order."""

    def __init__(self) -> None:
        self._count = 0
        self._line: dict[int, npt.NDArray[Any]] = {}
        self._before: dict[int, npt.NDArray[Any]] = {}

    def array(self, text: list[Any]) -> npt.NDArray[Any]:
        """Return the array of a text. Several fields may share it, so it must not be changed."""
        if text[0] == "r":
            number = int(text[1])
            found = self._line.get(number, self._before.get(number))
            if found is None:
                raise ValueError(f"array {number} is not in this line or the one before")
            self._line[number] = found
            return found
        kind, shape, form, packed = text
        found = _unpacked(np.dtype(kind), tuple(shape), form, b64decode(packed, validate=True))
        self._line[self._count] = found
        self._count += 1
        return found

    def end_line(self) -> None:
        """Forget the arrays that only the line before had."""
        self._before, self._line = self._line, {}


def _packed(array: npt.NDArray[Any], raw: bytes) -> tuple[str, str]:
    """Return the form and the text of an array's bytes."""
    size = array.dtype.itemsize
    if array.size > 1 and raw == raw[:size] * array.size:
        return "c", b64encode(raw[:size]).decode()
    if len(raw) > _SMALL:
        by_place = np.frombuffer(raw, dtype=np.uint8).reshape(-1, size).T
        short = zlib.compress(by_place.tobytes(), _LEVEL)
        if len(short) < len(raw):
            return "z", b64encode(short).decode()
    return "b", b64encode(raw).decode()


def _unpacked(kind: np.dtype[Any], shape: tuple[int, ...], form: str, packed: bytes) -> npt.NDArray[Any]:
    count = int(np.prod(shape))
    if form == "c":
        raw = packed * count
    elif form == "z":
        by_place = np.frombuffer(zlib.decompress(packed), dtype=np.uint8).reshape(kind.itemsize, -1)
        raw = by_place.T.tobytes()
    elif form == "b":
        raw = packed
    else:
        raise ValueError(f"unknown form of an array: {form!r}")
    native = kind.newbyteorder("=")
    return np.frombuffer(raw, dtype=kind, count=count).astype(native).reshape(shape)
