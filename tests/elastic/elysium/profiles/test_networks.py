"""Small networks: evaluated as in scikit-learn, scaled correctly, and reproducible."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.neural_network import MLPRegressor

from rheostat.elastic.elysium.profiles.networks import Network, Scale, evenly, train
from rheostat.errors import ConfigurationError


def curves(rows: int = 200) -> tuple[np.ndarray, np.ndarray]:
    x = np.linspace(0, 50, rows)[:, None]
    return x, np.column_stack([3 + 2 * x[:, 0] - 0.02 * x[:, 0] ** 2, 100 - x[:, 0]])


def test_a_smooth_function_is_learned_within_a_percent() -> None:
    x, y = curves()
    network = train(x, y, hidden=3, seed=1)
    assert network.shape == (1, 3, 2)
    assert np.abs(network(x) - y).max() < 0.01 * np.ptp(y)
    assert 0 < network.error < 0.05


def test_evaluation_is_what_scikit_learn_does() -> None:
    x, y = curves(60)
    network = train(x, y, hidden=4, seed=3)
    model = MLPRegressor(
        hidden_layer_sizes=(4,), activation="tanh", solver="lbfgs", max_iter=3, random_state=1, tol=1e9
    )
    model.fit(network.inputs.forward(x), y)  # any weights of the right shape, to be replaced
    model.coefs_ = [network.hidden, network.output]
    model.intercepts_ = [network.hidden_bias, network.output_bias]
    expected = network.outputs.back(model.predict(network.inputs.forward(x)))
    np.testing.assert_allclose(network(x), expected, rtol=1e-12)


def test_the_seed_decides_everything() -> None:
    x, y = curves(50)
    first, again, other = (train(x, y, hidden=3, seed=seed)(x) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_a_network_survives_a_file() -> None:
    x, y = curves(50)
    network = train(x, y, hidden=3, seed=1)
    again = Network.from_json(json.loads(json.dumps(network.to_json())))
    np.testing.assert_array_equal(again(x), network(x))
    assert (again.error, again.penalty) == (network.error, network.penalty)


def test_cross_validation_prefers_the_penalty_that_generalises() -> None:
    rng = np.random.default_rng(1)
    x = rng.uniform(0, 1, (40, 1))
    meant, noise = 1 + x, rng.standard_normal((40, 1))
    assert train(x, meant, hidden=12, seed=1, penalties=(1e-6, 100.0)).penalty == 1e-6
    assert train(x, noise, hidden=12, seed=1, penalties=(1e-6, 100.0)).penalty == 100.0


def test_a_constant_column_does_no_harm() -> None:
    x, y = curves(40)
    with_constant = np.column_stack([x, np.full(len(x), 7.0)])
    assert np.abs(train(with_constant, y, hidden=3, seed=1)(with_constant) - y).max() < 0.05 * np.ptp(y)
    assert Scale.of(np.ones((3, 1))).back(np.zeros((1, 1)))[0, 0] == 1.0


def test_too_few_rows_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="at least 4"):
        train(np.zeros((3, 1)), np.zeros((3, 1)), hidden=3, seed=1)
    with pytest.raises(ConfigurationError, match="as many"):
        train(np.zeros((5, 1)), np.zeros((4, 1)), hidden=3, seed=1)


def test_rows_taken_evenly_include_both_ends() -> None:
    assert evenly(100, 4).tolist() == [0, 33, 66, 99]
