"""The jobs of Enorm's evaluation (section 7): large random ones, and the chain of four fast operators."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rheostat.errors import TopologyError
from rheostat.planning.enorm.attributes import Attributes
from rheostat.planning.enorm.fusion import Edge

ATTRIBUTES = 30
"""How many attributes there are to partition by: the paper's number."""

FAST_OPERATORS = 4
FAST_WINDOWS = ("1 minute", "5 minutes", "10 minutes", "20 minutes")
"""The windows of the fast job's operators, first to last."""


@dataclass(frozen=True)
class FusionJob:
    """What fusion is given: by what operators can be partitioned, and how many tuples go between them."""

    attributes: Mapping[str, Attributes]
    rates: Mapping[Edge, float]


def fast_job(rate: float = 1.0) -> FusionJob:
    """Four compute operators one after the other, every tuple going through all of them.

    >>> list(fast_job().rates)
    [('op0', 'op1'), ('op1', 'op2'), ('op2', 'op3')]
    """
    names = [f"op{i}" for i in range(FAST_OPERATORS)]
    return FusionJob({name: frozenset({"key"}) for name in names}, dict.fromkeys(itertools.pairwise(names), rate))


def large_job(
    operators: int, rng: np.random.Generator, attributes: int = ATTRIBUTES, walk: int = 3, sent: float = 1.0
) -> FusionJob:
    """A random job as the paper makes them.

    Attributes: every operator gets a random set of them. Its size is half of all for the first one, and changes by a
    random number from one operator to the next. Traffic: operators lie on between three and ``0.75 * operators``
    levels. Each has ``sent`` tuples for the next level; the first operator there gets a random part of a random part
    of them, the next one the same of what is left, and so on.

    Args:
        walk: the size changes by a whole number between minus and plus this. The paper does not say how much.

    >>> job = large_job(50, np.random.default_rng(1))
    >>> len(job.attributes), len(job.attributes["op0"])
    (50, 15)
    """
    if operators < 4:
        raise TopologyError(f"operators={operators}: a random job needs at least 4, for three levels and a choice")
    names = [f"op{i}" for i in range(operators)]
    pool = np.array([f"a{i}" for i in range(attributes)])
    steps = rng.integers(-walk, walk, size=operators, endpoint=True)
    chosen, size = {}, attributes // 2
    for name, step in zip(names, steps, strict=True):
        chosen[name] = frozenset(rng.choice(pool, size, replace=False).tolist())
        size = int(np.clip(size + step, 1, attributes))
    levels = [part.tolist() for part in np.array_split(np.array(names), _levels(operators, rng))]
    rates: dict[Edge, float] = {}
    for level, below in itertools.pairwise(levels):
        for source in level:
            left = sent
            for target, part in zip(below, rng.random(len(below)) * rng.random(len(below)), strict=True):
                rates[source, target] = float(left * part)
                left -= rates[source, target]
    return FusionJob(chosen, rates)


def _levels(operators: int, rng: np.random.Generator) -> int:
    return int(rng.integers(3, max(3, int(0.75 * operators)), endpoint=True))
