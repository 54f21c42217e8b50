"""Small neural networks: scaled inputs, one hidden tanh layer, scaled outputs (ELYSIUM section 5.1).

scikit-learn trains them. The trained weights are kept as plain arrays, so that a network can be written to a file,
compared, and evaluated in microseconds.

As in the paper, inputs and outputs are scaled to [0, 1] by their minimum and maximum, and training uses tenfold
cross-validation, which here chooses the penalty on large weights. Callers train with 70 % of the data and test with the
rest. Two things differ from the paper, which used Encog: the output layer is linear instead of tanh, and L-BFGS finds
the weights, because scikit-learn has no resilient backpropagation.
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

MIN_ROWS = 4
"""Fewest rows that a network is trained with."""

_NEEDED_BY = "learning a profile or a forecast"
"""For the error if a package of the extra is missing."""

_ARRAYS = ("hidden", "hidden_bias", "output", "output_bias")
"""Fields of ``Network`` that are arrays, in their order."""

_CHOICE_TOLERANCE = 1e-2
"""Tolerance, at least, of trainings that only help to choose a penalty."""


@dataclass(frozen=True, eq=False)
class Scale:
    """Min-max scaling of columns to [0, 1]; a constant column becomes 0.

    Attributes:
        low: minimum of every column.
        span: maximum minus minimum of every column; 1 for a constant column.
    """

    low: Floats
    span: Floats

    @classmethod
    def of(cls, columns: Floats) -> Scale:
        """Return the scale of the given columns.

        >>> Scale.of(np.array([[1.0, 5.0], [3.0, 5.0]])).forward(np.array([[2.0, 5.0]]))
        array([[0.5, 0. ]])
        """
        low = columns.min(axis=0)
        span = columns.max(axis=0) - low
        return cls(low, np.where(span > 0, span, 1.0))

    def forward(self, columns: Floats) -> Floats:
        """Scale columns; values within the range of the original columns become values in [0, 1]."""
        return (columns - self.low) / self.span

    def back(self, columns: Floats) -> Floats:
        """Undo the scaling."""
        return columns * self.span + self.low


@dataclass(frozen=True, eq=False)
class Network:
    """A trained network with one hidden layer.

    Attributes:
        inputs: scale of the inputs.
        outputs: scale of the outputs.
        hidden: weights of the hidden layer, inputs x neurons.
        hidden_bias: bias of every neuron of the hidden layer.
        output: weights of the output layer, neurons x outputs.
        output_bias: bias of every output.
        error: root mean square error in the cross-validation, on scaled outputs.
        penalty: weight of the L2 penalty that the cross-validation chose.
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
        """Return a row of outputs for each row of inputs."""
        layer = np.tanh(self.inputs.forward(rows) @ self.hidden + self.hidden_bias)
        return self.outputs.back(layer @ self.output + self.output_bias)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Numbers of inputs, hidden neurons and outputs."""
        return (*self.hidden.shape, self.output.shape[1])

    def to_json(self) -> dict[str, Any]:
        """Return the network as plain values, for a file."""
        arrays = {name: getattr(self, name).tolist() for name in _ARRAYS}
        scales = {
            name: [scale.low.tolist(), scale.span.tolist()]
            for name, scale in (("inputs", self.inputs), ("outputs", self.outputs))
        }
        return {**arrays, **scales, "error": self.error, "penalty": self.penalty}

    @classmethod
    def from_json(cls, plain: dict[str, Any]) -> Network:
        """Return the network from the values of ``to_json``.

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
        return cls(
            inputs=inputs,
            outputs=outputs,
            hidden=hidden,
            hidden_bias=hidden_bias,
            output=output,
            output_bias=output_bias,
            error=error,
            penalty=penalty,
        )


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
    """Train a network that maps rows of inputs to rows of outputs.

    Args:
        inputs: one row per example.
        outputs: one row per example.
        hidden: number of neurons of the hidden layer.
        seed: seed of the training.
        folds: number of folds of the cross-validation; fewer if there are not enough rows.
        penalties: weights of the L2 penalty among which cross-validation chooses.
        tolerance: training ends when no component of the gradient of the squared error exceeds it; outputs are scaled
            to a standard deviation of 1.
        most_rows: maximum number of rows to train with; evenly spaced rows are taken if there are more.
        fold_rows: maximum number of rows in the cross-validation, taken the same way.

    >>> x = np.linspace(0, 1, 50)[:, None]
    >>> network = train(x, x**2, hidden=3, seed=1)
    >>> network.shape, round(float(network(np.array([[0.5]]))[0, 0]), 2)
    ((1, 3, 1), 0.25)
    """
    if len(inputs) != len(outputs):
        raise ConfigurationError(f"{len(inputs)} rows of inputs, {len(outputs)} of outputs: pass as many of each")
    if len(inputs) < MIN_ROWS:
        raise ConfigurationError(
            f"{len(inputs)} rows: a network needs at least {MIN_ROWS} to train with; record metrics for longer"
        )
    chosen = evenly(len(inputs), most_rows)
    input_scale, output_scale = Scale.of(inputs[chosen]), Scale.of(outputs[chosen])
    x, y = input_scale.forward(inputs[chosen]), output_scale.forward(outputs[chosen])
    deviation = float(y.std()) or 1.0
    y = y / deviation
    part = evenly(len(x), fold_rows)
    with one_thread():
        coarse = max(tolerance, _CHOICE_TOLERANCE)
        settings = [NetworkSettings(hidden, seed, penalty, coarse) for penalty in penalties]
        error, penalty = min((_cross_validate(x[part], y[part], folds, s), s.penalty) for s in settings)
        weights = _weights(_fit(x, y, NetworkSettings(hidden, seed, penalty, tolerance)), deviation)
    return Network(input_scale, output_scale, *weights, error * deviation, penalty)


def one_thread() -> AbstractContextManager[object]:
    """Limit training to one thread: matrices and trees are small, and on a busy machine threads wait for each other."""
    limit: AbstractContextManager[object] = load("threadpoolctl", _NEEDED_BY).threadpool_limits(1)
    return limit


def evenly(rows: int, most: int) -> npt.NDArray[np.intp]:
    """Return at most ``most`` evenly spaced row numbers, with the first and the last.

    >>> evenly(5, 3), evenly(2, 3)
    (array([0, 2, 4]), array([0, 1]))
    """
    return np.linspace(0, rows - 1, min(rows, most)).round().astype(np.intp)


@dataclass(frozen=True)
class NetworkSettings:
    """Settings of the training of a network.

    Attributes:
        hidden: number of neurons of the hidden layer.
        seed: seed of the training.
        penalty: weight of the L2 penalty on large weights.
        tolerance: largest component of the gradient at which training ends.
    """

    hidden: int
    seed: int
    penalty: float
    tolerance: float


def _fit(x: Floats, y: Floats, settings: NetworkSettings) -> Any:
    """Return a trained ``MLPRegressor`` of scikit-learn."""
    # L-BFGS stops when the gradient or the gain is small, long before these limits, so it never warns about them.
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


def _weights(fitted: Any, deviation: float) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the weights and biases, for outputs that were divided by their standard deviation in training."""
    (hidden, output), (hidden_bias, output_bias) = fitted.coefs_, fitted.intercepts_
    return hidden, hidden_bias, output * deviation, output_bias * deviation


def _cross_validate(x: Floats, y: Floats, folds: int, settings: NetworkSettings) -> float:
    """Return the root mean square error over all folds; a fold holds back consecutive rows, not single ones."""
    errors, splitter = [], load("sklearn.model_selection", _NEEDED_BY).KFold(min(folds, len(x) // 2))
    for training, held_back in splitter.split(x):
        predicted = _fit(x[training], y[training], settings).predict(x[held_back]).reshape(y[held_back].shape)
        errors.append(np.mean((predicted - y[held_back]) ** 2))
    return float(np.sqrt(np.mean(errors)))
