"""Runs of an evaluation in parallel, one process per core."""

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
Result = TypeVar("Result")

_TIME_LIMIT = 1800.0  # seconds that one run may take
_MOST_PROCESSES = 4


@dataclass(frozen=True)
class Bench:
    """Where runs are made.

    Attributes:
        run: settings of the evaluation.
        pool: processes to run in; None to run in this process, one setting after the other.

    >>> from pathlib import Path
    >>> Bench(Run(Path("."))).each("absolute values", abs, [-1, 2])
    [1, 2]
    """

    run: Run
    pool: ProcessPoolExecutor | None = None

    def each(self, title: str, function: Callable[[Setting], Result], settings: Sequence[Setting]) -> list[Result]:
        """Return the function's result for every setting; the function and the settings must be picklable."""
        if self.pool is None:
            return [function(setting) for setting in self.run.each(title, settings)]
        begun: list[tuple[Setting, Future[Result]]] = []
        try:
            begun = [(setting, self.pool.submit(function, setting)) for setting in settings]
        except BrokenProcessPool:
            return Bench(self.run).each(title, function, settings)
        return [self._result(function, setting, future) for setting, future in self.run.each(title, begun)]

    def _result(self, function: Callable[[Setting], Result], setting: Setting, future: Future[Result]) -> Result:
        try:
            return future.result(timeout=_TIME_LIMIT)
        except BrokenProcessPool:
            return function(setting)  # a machine without memory for another process may still run it in this one


@contextmanager
def bench(run: Run) -> Iterator[Bench]:
    """Open a bench with one process per core, four at most."""
    count = min(os.cpu_count() or 1, _MOST_PROCESSES)
    if count == 1:
        yield Bench(run)
        return
    with ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield Bench(run, pool)
