"""The jobs of Enorm's evaluation (section 7): large random ones, and the chain of four fast operators."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rheostat.errors import ConfigurationError
from rheostat.planning.enorm.fusion import Attributes, Edge

ATTRIBUTES = 30
"""Number of attributes to partition by, the paper's."""

FAST_OPERATORS = 4
FAST_WINDOWS = ("1 minute", "5 minutes", "10 minutes", "20 minutes")
"""The windows of the fast job's operators, first to last."""


@dataclass(frozen=True)
class FusionJob:
    """The input of fusion.

    Attributes:
        attributes: partition attributes by operator.
        rates: tuples per second by edge.
    """

    attributes: Mapping[str, Attributes]
    rates: Mapping[Edge, float]


def fast_job(rate: float = 1.0) -> FusionJob:
    """Return the fast job: a chain of four compute operators through which every tuple goes.

    >>> list(fast_job().rates)
    [('op0', 'op1'), ('op1', 'op2'), ('op2', 'op3')]
    """
    names = [f"op{i}" for i in range(FAST_OPERATORS)]
    return FusionJob({name: frozenset({"key"}) for name in names}, dict.fromkeys(itertools.pairwise(names), rate))


def large_job(
    operators: int, rng: np.random.Generator, attributes: int = ATTRIBUTES, walk: int = 3, sent: float = 1.0
) -> FusionJob:
    """Return a random job as the paper generates them.

    Attributes: every operator gets a random set. The first set has half of all attributes; from one operator to the
    next, the size changes by a random number.

    Traffic: operators are on three to ``0.75 * operators`` levels. Each sends ``sent`` tuples per second to the next
    level. The first operator there receives a random part of a random part of them, the second one the same of the
    rest, and so on.

    Args:
        operators: number of operators, at least 4.
        rng: source of random numbers.
        attributes: number of attributes.
        walk: the size of the sets changes by a whole number from ``-walk`` to ``walk``. Ours: the paper prints none.
        sent: tuples per second that an operator sends.

    >>> job = large_job(50, np.random.default_rng(1))
    >>> len(job.attributes), len(job.attributes["op0"])
    (50, 15)
    """
    if operators < 4:
        raise ConfigurationError(f"operators={operators}: a random job needs at least 4 operators")
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
