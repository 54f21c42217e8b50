"""Compiled functions: as they are written, and what happens without Numba."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from rheostat import jit
from rheostat.errors import SetupError


def doubled(values: np.ndarray) -> np.ndarray:
    return values * 2


@pytest.mark.parametrize("decorate", [jit.compiled, jit.inlined])
def test_without_numba_a_call_says_what_to_install(decorate: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jit, "_has_numba", lambda: False)
    refused = jit.compiled(doubled) if decorate is jit.compiled else jit.inlined(doubled)
    with pytest.raises(SetupError, match=r'tests.test_jit needs the package numba.*pip install "rheostat\[policies\]"'):
        refused(np.ones(2))
    assert refused.py_func(np.ones(2)).tolist() == [2.0, 2.0]  # type: ignore[attr-defined]


WITHOUT = """
import importlib, pkgutil, sys

class Nobody:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"numba", "sklearn", "scipy", "threadpoolctl"}:
            raise ModuleNotFoundError(name, name=name.partition(".")[0])

sys.meta_path.insert(0, Nobody())
import rheostat.extras
rheostat.extras.find_spec = lambda name: None
import rheostat.elastic
for found in pkgutil.walk_packages(rheostat.elastic.__path__, "rheostat.elastic."):
    importlib.import_module(found.name)
import rheostat.simulate.scenario.scenario
"""


def test_without_the_extras_everything_can_be_imported() -> None:
    subprocess.run([sys.executable, "-c", WITHOUT], check=True)


PLAIN = """
import sys
import rheostat as rh
from rheostat.elastic.policies import POLICIES, policy_for_spark
policy_for_spark("balance")
import rheostat.spark.topology
print(sorted({"numba", "sklearn", "scipy", "threadpoolctl", "matplotlib"} & set(sys.modules)))
"""


def test_what_a_query_needs_on_the_driver_imports_no_package_of_an_extra() -> None:
    done = subprocess.run([sys.executable, "-c", PLAIN], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"
