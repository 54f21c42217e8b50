"""Small neural networks as plain values: scaled inputs, one hidden tanh layer, scaled outputs (ELYSIUM section 5.1).

scikit-learn trains them; what it learned is kept as arrays, so that a profile can be written to a file, compared, and
evaluated in microseconds. Two things differ from the paper's networks, which Encog trained: scikit-learn's output
layer is linear where theirs is a tanh, and it has no resilient backpropagation, so L-BFGS finds the weights. The rest
is as printed: inputs and outputs scaled to [0, 1] by their minimum and maximum, 70 % of the data to train with and 30 %
to test with, and tenfold cross-validation on the training part, which here chooses the penalty on large weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rheostat.arrays import Floats
from rheostat.errors import ConfigurationError
from rheostat.extras import load

PENALTIES = (1e-6, 1e-4)
"""Weights of the L2 penalty among which cross-validation chooses."""


@dataclass(frozen=True, eq=False)
class Scale:
    """Min-max scaling of columns to [0, 1]; a column that never changes becomes 0.

    Attributes:
        low: the least of every column.
        span: the largest less the least of every column.
    """

    low: Floats
    span: Floats

    @classmethod
    def of(cls, columns: Floats) -> Scale:
        """The scale of what is there.

        >>> Scale.of(np.array([[1.0, 5.0], [3.0, 5.0]])).forward(np.array([[2.0, 5.0]]))
        array([[0.5, 0. ]])
        """
        low = columns.min(axis=0)
        span = columns.max(axis=0) - low
        return cls(low, np.where(span > 0, span, 1.0))

    def forward(self, columns: Floats) -> Floats:
        """Into [0, 1], for what lies within the range that was seen."""
        return (columns - self.low) / self.span

    def back(self, columns: Floats) -> Floats:
        """Out of [0, 1]."""
        return columns * self.span + self.low


@dataclass(frozen=True, eq=False)
class Network:
    """A trained network with one hidden layer.

    Attributes:
        inputs: scale of the inputs.
        outputs: scale of the outputs.
        hidden: weights into the hidden layer, inputs x neurons.
        hidden_bias: of the hidden layer.
        output: weights out of it, neurons x outputs.
        output_bias: of the outputs.
        error: root mean square error on scaled data that was held back in the cross-validation.
        penalty: what the cross-validation chose.
    """

    inputs: Scale
    outputs: Scale
    hidden: Floats
    hidden_bias: Floats
    output: Floats
    output_bias: Floats
    error: float = 0.0
    penalty: float = 0.0

    def __call__(self, rows: Floats) -> Floats:
        """Outputs for rows of inputs."""
        layer = np.tanh(self.inputs.forward(rows) @ self.hidden + self.hidden_bias)
        return self.outputs.back(layer @ self.output + self.output_bias)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Numbers of inputs, hidden neurons and outputs."""
        return (*self.hidden.shape, self.output.shape[1])

    def to_json(self) -> dict[str, Any]:
        """As plain values, for a file."""
        arrays = {name: getattr(self, name).tolist() for name in _ARRAYS}
        scales = {
            name: [scale.low.tolist(), scale.span.tolist()]
            for name, scale in (("inputs", self.inputs), ("outputs", self.outputs))
        }
        return {**arrays, **scales, "error": self.error, "penalty": self.penalty}

    @classmethod
    def from_json(cls, plain: dict[str, Any]) -> Network:
        """The network that ``to_json`` gave.

        >>> line = train(np.arange(20.0)[:, None], np.arange(20.0)[:, None], hidden=2, seed=1)
        >>> again = Network.from_json(line.to_json())
        >>> bool((again(np.array([[3.0]])) == line(np.array([[3.0]]))).all())
        True
        """
        inputs, outputs = (
            Scale(*(np.array(v, dtype=np.float64) for v in plain[name])) for name in ("inputs", "outputs")
        )
        hidden, hidden_bias, output, output_bias = (np.array(plain[name], dtype=np.float64) for name in _ARRAYS)
        error, penalty = float(plain["error"]), float(plain["penalty"])
        return cls(inputs, outputs, hidden, hidden_bias, output, output_bias, error, penalty)


_NEEDED_BY = "learning a profile or a forecast"
_ARRAYS = ("hidden", "hidden_bias", "output", "output_bias")


def train(
    inputs: Floats,
    outputs: Floats,
    hidden: int,
    seed: int,
    folds: int = 10,
    penalties: Sequence[float] = PENALTIES,
    tolerance: float = 1e-4,
    most_rows: int = 20_000,
    fold_rows: int = 1_500,
) -> Network:
    """A network that maps rows of inputs to rows of outputs.

    Args:
        folds: of the cross-validation; fewer where there are not enough rows.
        tolerance: training ends when no weight changes the squared error of outputs with deviation 1 by more than this.
        most_rows: of more rows, so many are taken at equal distances.
        fold_rows: the same in the cross-validation.

    >>> x = np.linspace(0, 1, 50)[:, None]
    >>> network = train(x, x**2, hidden=3, seed=1)
    >>> network.shape, round(float(network(np.array([[0.5]]))[0, 0]), 2)
    ((1, 3, 1), 0.25)
    """
    if len(inputs) != len(outputs) or len(inputs) < 4:
        raise ConfigurationError(
            f"{len(inputs)} rows of inputs and {len(outputs)} of outputs: a network needs as many of the one as of the "
            "other, and at least 4; record metrics for longer"
        )
    chosen = evenly(len(inputs), most_rows)
    given, wanted = Scale.of(inputs[chosen]), Scale.of(outputs[chosen])
    x, y = given.forward(inputs[chosen]), wanted.forward(outputs[chosen])
    spread = float(y.std()) or 1.0
    part = evenly(len(x), fold_rows)
    with one_thread():
        settings = [NetworkSettings(hidden, seed, penalty, max(tolerance, 1e-2)) for penalty in penalties]
        error, best = min((_validated(x[part], y[part] / spread, folds, s), s.penalty) for s in settings)
        weights = _weights(_fit(x, y / spread, NetworkSettings(hidden, seed, best, tolerance)), spread)
    return Network(given, wanted, *weights, error * spread, best)


def one_thread() -> AbstractContextManager[object]:
    """Train in one thread: the matrices and trees are small, and on a busy machine threads wait for each other."""
    limited: AbstractContextManager[object] = load("threadpoolctl", _NEEDED_BY).threadpool_limits(1)
    return limited


def evenly(rows: int, most: int) -> npt.NDArray[np.intp]:
    """Row numbers at equal distances, ``most`` at most, with the first and the last.

    >>> evenly(5, 3), evenly(2, 3)
    (array([0, 2, 4]), array([0, 1]))
    """
    return np.linspace(0, rows - 1, min(rows, most)).round().astype(np.intp)


@dataclass(frozen=True)
class NetworkSettings:
    """How a network is trained.

    Attributes:
        hidden: neurons of the hidden layer.
        seed: everything random follows from it.
        penalty: of large weights.
        tolerance: when training ends.
    """

    hidden: int
    seed: int
    penalty: float
    tolerance: float


def _fit(x: Floats, y: Floats, settings: NetworkSettings) -> Any:
    """A trained ``MLPRegressor`` of scikit-learn."""
    # L-BFGS stops by itself, when the gradient or the gain is small, long before these limits: no warning to silence.
    network = load("sklearn.neural_network", _NEEDED_BY).MLPRegressor(
        hidden_layer_sizes=(settings.hidden,),
        activation="tanh",
        solver="lbfgs",
        alpha=settings.penalty,
        tol=settings.tolerance,
        max_iter=20_000,
        max_fun=400_000,
        random_state=settings.seed,
    )
    return network.fit(x, y if y.shape[1] > 1 else y[:, 0])


def _weights(fitted: Any, spread: float) -> tuple[Floats, Floats, Floats, Floats]:
    """The weights, for outputs that were divided by their spread in training."""
    (hidden, output), (hidden_bias, output_bias) = fitted.coefs_, fitted.intercepts_
    return hidden, hidden_bias, output * spread, output_bias * spread


def _validated(x: Floats, y: Floats, folds: int, settings: NetworkSettings) -> float:
    """Root mean square error on the parts held back; the parts are stretches of time, not single rows."""
    errors, folded = [], load("sklearn.model_selection", _NEEDED_BY).KFold(min(folds, len(x) // 2))
    for kept, held in folded.split(x):
        predicted = _fit(x[kept], y[kept], settings).predict(x[held]).reshape(y[held].shape)
        errors.append(np.mean((predicted - y[held]) ** 2))
    return float(np.sqrt(np.mean(errors)))
