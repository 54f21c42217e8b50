"""Runs of a reproduction beside each other, on all cores of the machine."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from papers.paper_run import Run

Setting = TypeVar("Setting")
Found = TypeVar("Found")

_PATIENCE = 1800.0  # seconds that one run may take


@dataclass(frozen=True)
class Bench:
    """Where runs are made: in processes beside each other, or here if there are none.

    >>> from pathlib import Path
    >>> Bench(Run(Path("."))).each("absolute values", abs, [-1, 2])
    [1, 2]
    """

    run: Run
    pool: ProcessPoolExecutor | None = None

    def each(self, title: str, function: Callable[[Setting], Found], settings: Sequence[Setting]) -> list[Found]:
        """The function of every setting; both have to be known by name in other processes."""
        if self.pool is None:
            return [function(setting) for setting in self.run.each(title, settings)]
        begun: list[tuple[Setting, Future[Found]]] = []
        try:
            begun = [(setting, self.pool.submit(function, setting)) for setting in settings]
        except BrokenProcessPool:
            return Bench(self.run).each(title, function, settings)
        return [self._result(function, setting, future) for setting, future in self.run.each(title, begun)]

    def _result(self, function: Callable[[Setting], Found], setting: Setting, future: Future[Found]) -> Found:
        try:
            return future.result(timeout=_PATIENCE)
        except BrokenProcessPool:
            return function(setting)  # a machine that cannot keep another process can still run it here


@contextmanager
def bench(run: Run) -> Iterator[Bench]:
    """A bench with a process for each core."""
    count = min(os.cpu_count() or 1, 4)
    if count == 1:
        yield Bench(run)
        return
    with ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield Bench(run, pool)
