"""The loans that examples in docstrings and docs are about: two epochs, small enough to check by hand."""

from __future__ import annotations

import json
import os
from pathlib import Path

SCHEMA = "user string, area string, ts timestamp, amount double, repaid double, ok boolean"

EPOCHS = (
    (
        ("ann", "north", "2026-01-01T10:00:00Z", 100.0, 110.0, True),
        ("bob", "north", "2026-01-01T10:20:00Z", 200.0, 210.0, True),
        ("ann", "south", "2026-01-01T10:40:00Z", 300.0, 360.0, False),
    ),
    (
        ("cid", "north", "2026-01-01T11:10:00Z", 400.0, 420.0, True),
        ("bob", "south", "2026-01-01T11:30:00Z", 500.0, 550.0, True),
    ),
)


def write_loans(folder: Path) -> None:
    """One JSON file per epoch, in order of modification time."""
    folder.mkdir(parents=True)
    names = [column.split()[0] for column in SCHEMA.split(", ")]
    for epoch, rows in enumerate(EPOCHS):
        file = folder / f"{epoch}.json"
        file.write_text("".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows))
        os.utime(file, (1_000_000_000 + epoch, 1_000_000_000 + epoch))
