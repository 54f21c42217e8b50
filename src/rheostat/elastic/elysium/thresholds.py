"""Thresholds learned by trying them: Q-learning with the paper's reward (ELYSIUM section 5.1).

The states are thresholds in a row, the actions are one down, none and one up, and the reward of arriving at a threshold
is the threshold itself less the throughput degradation seen with it: as much use of every node as goes without harm.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from rheostat.arrays import Floats
from rheostat.errors import ConfigurationError

MOVES = (-1, 0, 1)
"""What may be done: one threshold down, none, one up."""


@dataclass(frozen=True)
class QLearning:
    """Parameters of Q-learning; the paper prints none of them.

    Attributes:
        steps: thresholds that are tried.
        rate: share of a new value in the old one, ``rate / visits ** decay`` after some visits.
        decay: how fast the rate falls with visits.
        discount: of the rewards that come later.
        exploration: share of moves made at random, falling linearly to 0 over all steps.
        episode: steps after which the search begins again at a random threshold.
        seed: everything random follows from it.
    """

    steps: int = 600
    rate: float = 1.0
    decay: float = 0.6
    discount: float = 0.5
    exploration: float = 1.0
    episode: int = 20
    seed: int = 1


@dataclass(frozen=True, eq=False)
class LearnedThreshold:
    """What was learned.

    Attributes:
        thresholds: that were tried, in order.
        values: Q, thresholds x moves.
        rewards: mean reward seen at every threshold; NaN where the search never was.
        visits: how often it was there.
        best: where the learned moves lead to and stay, from the threshold with the highest value; if they go round in a
            circle, the threshold in it that was rewarded most.
    """

    thresholds: tuple[float, ...]
    values: Floats
    rewards: Floats
    visits: Floats
    best: float


def learn(
    thresholds: Sequence[float], degradation: Callable[[float, int], float], learning: QLearning | None = None
) -> LearnedThreshold:
    """Try thresholds until it is clear which is best.

    Args:
        degradation: the throughput degradation seen with a threshold; also gets the number of the step, so that it can
            be another run each time.

    >>> learn((0.6, 0.7, 0.8, 0.9), lambda threshold, step: 5 * max(0.0, threshold - 0.8)).best
    0.8
    """
    learning = learning or QLearning()
    if len(thresholds) < 2 or learning.steps < 1:
        raise ConfigurationError("Q-learning needs at least two thresholds to choose from and one step")
    rng = np.random.default_rng(learning.seed)
    count = len(thresholds)
    q, tried = np.zeros((count, len(MOVES))), np.zeros((count, len(MOVES)))
    total, visits = np.zeros(count), np.zeros(count)
    state = 0
    for step in range(learning.steps):
        if step % learning.episode == 0:
            state = int(rng.integers(count))
        allowed = _allowed(state, count)
        random = rng.random() < learning.exploration * (1 - step / learning.steps)
        action = int(rng.choice(allowed)) if random else _greedy(q, state)
        target = state + MOVES[action]
        reward = thresholds[target] - degradation(thresholds[target], step)
        total[target] += reward
        visits[target] += 1
        tried[state, action] += 1
        weight = learning.rate / tried[state, action] ** learning.decay
        later = learning.discount * _best_value(q, target)
        q[state, action] += weight * (reward + later - q[state, action])
        state = target
    seen = visits > 0
    rewards = np.where(seen, total / np.where(seen, visits, 1.0), np.nan)
    return LearnedThreshold(tuple(thresholds), q, rewards, visits, thresholds[_followed(q, rewards)])


def _allowed(state: int, count: int) -> list[int]:
    return [a for a, move in enumerate(MOVES) if 0 <= state + move < count]


def _greedy(q: Floats, state: int) -> int:
    return max(_allowed(state, len(q)), key=lambda a: float(q[state, a]))


def _best_value(q: Floats, state: int) -> float:
    return float(q[state, _greedy(q, state)])


def _followed(q: Floats, rewards: Floats) -> int:
    """Where the learned moves lead, from the state with the highest value; of a circle, the state with most reward.

    The values do not tell which state of a circle is best: each one's is that of the move to the next.

    >>> back_and_forth = np.array([[0.0, 1.0, 5.0], [4.0, 1.0, 0.0]])
    >>> _followed(back_and_forth, np.array([0.2, 0.9])), _followed(back_and_forth, np.array([0.9, 0.2]))
    (1, 0)
    """
    state = int(np.argmax([_best_value(q, s) for s in range(len(q))]))
    path: list[int] = []
    while state not in path:
        path.append(state)
        state += MOVES[_greedy(q, state)]
    circle = path[path.index(state) :]
    return max(circle, key=lambda s: -np.inf if np.isnan(rewards[s]) else float(rewards[s]))
