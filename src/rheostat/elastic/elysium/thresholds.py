"""Learns a threshold by trying several: Q-learning with the paper's reward (ELYSIUM section 5.1).

The states are the thresholds in order, and the actions move one down, stay, or move one up. The reward of arriving at a
threshold is the threshold minus the throughput degradation measured with it, so the best threshold uses nodes as much
as possible without harm.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from rheostat.arrays import Floats
from rheostat.errors import ConfigurationError

MOVES = (-1, 0, 1)
"""Actions: one threshold down, stay, one threshold up."""


@dataclass(frozen=True)
class QLearning:
    """Parameters of Q-learning; the paper gives no values.

    Attributes:
        steps: number of moves, each of which tries one threshold.
        rate: learning rate when a move is first tried; ``rate / n ** decay`` at the n-th time.
        decay: how fast the learning rate falls.
        discount: weight of later rewards.
        exploration: share of random moves at the beginning; it falls linearly to 0 over all steps.
        episode: number of steps after which the search starts again at a random threshold.
        seed: seed of all random choices.

    >>> found = learn((0.6, 0.7, 0.8), lambda threshold, step: 0.0, QLearning(steps=60))
    >>> int(found.visits.sum()), found.best  # nothing is ever degraded, so the highest is best
    (60, 0.8)
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
    """The learned threshold, and how it was learned.

    Attributes:
        thresholds: the thresholds to choose from, in order.
        values: learned values Q, with a row per threshold and a column per move.
        rewards: mean reward of every threshold; NaN if it was never visited.
        visits: number of visits of every threshold.
        best: the threshold at which the learned moves end, starting from the one with the highest value. If they end in
            a cycle, the threshold of the cycle with the highest reward.

    >>> found = learn((0.6, 0.7, 0.8), lambda threshold, step: 0.3 if threshold > 0.7 else 0.0)
    >>> found.rewards.round(2).tolist(), found.best
    ([0.6, 0.7, 0.5], 0.7)
    """

    thresholds: tuple[float, ...]
    values: Floats
    rewards: Floats
    visits: Floats
    best: float


def learn(
    thresholds: Sequence[float], degradation: Callable[[float, int], float], learning: QLearning | None = None
) -> LearnedThreshold:
    """Learn the best of several thresholds.

    Args:
        thresholds: the thresholds to choose from, in order.
        degradation: measures the throughput degradation of a threshold. Its second argument is the number of the step,
            so that each measurement can be a different run.
        learning: parameters of Q-learning.

    >>> learn((0.6, 0.7, 0.8, 0.9), lambda threshold, step: 5 * max(0.0, threshold - 0.8)).best
    0.8
    """
    learning = learning or QLearning()
    if len(thresholds) < 2 or learning.steps < 1:
        raise ConfigurationError(
            f"{len(thresholds)} thresholds, steps={learning.steps}: pass at least two thresholds and one step"
        )
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
    return LearnedThreshold(tuple(thresholds), q, rewards, visits, thresholds[_best_state(q, rewards)])


def _allowed(state: int, count: int) -> list[int]:
    """Return the actions that do not leave the thresholds."""
    return [a for a, move in enumerate(MOVES) if 0 <= state + move < count]


def _greedy(q: Floats, state: int) -> int:
    """Return the action with the highest value."""
    return max(_allowed(state, len(q)), key=lambda a: float(q[state, a]))


def _best_value(q: Floats, state: int) -> float:
    return float(q[state, _greedy(q, state)])


def _best_state(q: Floats, rewards: Floats) -> int:
    """Return the state at which the learned moves end, starting from the state with the highest value.

    If they end in a cycle, return its state with the highest reward. Values cannot compare the states of a cycle: the
    value of each is that of the move to the next.

    >>> back_and_forth = np.array([[0.0, 1.0, 5.0], [4.0, 1.0, 0.0]])
    >>> _best_state(back_and_forth, np.array([0.2, 0.9])), _best_state(back_and_forth, np.array([0.9, 0.2]))
    (1, 0)
    """
    state = int(np.argmax([_best_value(q, s) for s in range(len(q))]))
    path: list[int] = []
    while state not in path:
        path.append(state)
        state += MOVES[_greedy(q, state)]
    cycle = path[path.index(state) :]
    return max(cycle, key=lambda s: -np.inf if np.isnan(rewards[s]) else float(rewards[s]))
