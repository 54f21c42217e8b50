"""One run of a paper's evaluation: its size and seed, the folder of its figures, and its progress."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from papers.claims import Claim
from rheostat import plots

Item = TypeVar("Item")


class Watcher(Protocol):
    """Receives the progress of a run."""

    def begin(self, title: str, steps: int) -> None:
        """A part of the run begins."""

    def advance(self) -> None:
        """One step of the current part is done."""


class Silent:
    """A watcher that shows nothing."""

    def begin(self, title: str, steps: int) -> None:
        """Do nothing."""

    def advance(self) -> None:
        """Do nothing."""


@dataclass(frozen=True)
class Run:
    """Settings that every evaluation gets.

    Attributes:
        folder: where figures (SVG) and tables (CSV) are written.
        quick: True for fewer and smaller runs, which take less than a minute per paper.
        seed: of all random numbers.
        watcher: receives the progress.
    """

    folder: Path
    quick: bool = False
    seed: int = 1
    watcher: Watcher = field(default_factory=Silent)

    def each(self, title: str, items: Sequence[Item]) -> Iterator[Item]:
        """Yield the items one by one and report progress under the title."""
        self.watcher.begin(title, len(items))
        for item in items:
            yield item
            self.watcher.advance()

    def figure(
        self, name: str, title: str, rows: int = 1, columns: int = 1, width: float = 4.2, height: float = 2.8
    ) -> AbstractContextManager[npt.NDArray[np.object_]]:
        """Open a figure, which is written to ``name``.svg at the end, and return its axes by row and column."""
        return plots.figure(self.folder / f"{name}.svg", title, rows, columns, width, height)

    def table(self, name: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """Write a table of figures to ``name``.csv."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([header, *rows])


class Paper(Protocol):
    """A module that runs one paper's evaluation, such as ``papers.posg.posg_evaluation``.

    Attributes:
        TITLE: heading of the paper's section.
        ABOUT: what the algorithm is as published and what we changed, in Markdown, for the page of notes.
    """

    TITLE: str
    ABOUT: str

    def reproduce(self, run: Run) -> list[Claim]:
        """Run the paper's evaluation again and return its claims."""
