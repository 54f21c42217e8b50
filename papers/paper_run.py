"""One run of a reproduction: how thorough it is, where its figures go, and what it tells meanwhile."""

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
    """Is told how far a run is."""

    def begin(self, title: str, steps: int) -> None:
        """A part of the run begins."""

    def advance(self) -> None:
        """One of its steps is done."""


class Silent:
    """Tells nobody."""

    def begin(self, title: str, steps: int) -> None:
        """Nothing."""

    def advance(self) -> None:
        """Nothing."""


@dataclass(frozen=True)
class Run:
    """What every reproduction is given.

    Attributes:
        folder: where figures (SVG) and tables (CSV) go.
        quick: fewer and smaller runs, in less than a minute for the whole paper.
        seed: everything random follows from it.
    """

    folder: Path
    quick: bool = False
    seed: int = 1
    watcher: Watcher = field(default_factory=Silent)

    def each(self, title: str, items: Sequence[Item]) -> Iterator[Item]:
        """The items one after the other, with progress shown under the title."""
        self.watcher.begin(title, len(items))
        for item in items:
            yield item
            self.watcher.advance()

    def figure(
        self, name: str, title: str, rows: int = 1, columns: int = 1, width: float = 4.2, height: float = 2.8
    ) -> AbstractContextManager[npt.NDArray[np.object_]]:
        """Axes of a figure that is written as ``name``.svg."""
        return plots.figure(self.folder / f"{name}.svg", title, rows, columns, width, height)

    def table(self, name: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """Write a table of figures as ``name``.csv."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([header, *rows])


class Paper(Protocol):
    """A module of this package that reproduces one paper.

    Attributes:
        TITLE: of the paper's section.
        ABOUT: what its algorithm is as published and what is ours, in Markdown, for the page of notes.
    """

    TITLE: str
    ABOUT: str

    def reproduce(self, run: Run) -> list[Claim]:
        """Run the paper's evaluation again."""
