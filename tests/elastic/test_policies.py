"""Policies by name: the registry tells the truth, and loads nothing that was not asked for."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import pytest

from rheostat.elastic import policies
from rheostat.elastic.baselines.plain_balance import Balance
from rheostat.elastic.policies import POLICIES, policy_for_spark, policy_named
from rheostat.errors import ConfigurationError


def test_importing_the_registry_loads_no_policy_and_no_numpy() -> None:
    code = "import sys, rheostat.elastic.policies; print({'numpy', 'numba', 'sklearn'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "set()"


NAMES = sorted(name for names in policies._HOMES.values() for name in names.split())


@pytest.mark.parametrize("name", NAMES)
def test_every_policy_says_where_it_runs(name: str) -> None:
    found = getattr(policies, name)
    assert found.__name__ == name
    words = " ".join((found.__doc__ or "").split())
    assert ("Runs on Spark" in words) == found.on_spark
    assert ("not connected to Spark yet" in words) != found.on_spark or name in ("Drs", "DrsLb")


@pytest.mark.parametrize("name", list(POLICIES))
def test_the_registry_agrees_with_the_policies(name: str) -> None:
    found = policy_named(name)
    assert (found.name, found.on_spark) == (name, POLICIES[name].on_spark)


def test_unknown_names_are_refused_with_those_that_there_are() -> None:
    with pytest.raises(ConfigurationError, match="policy 'best' is not known: choose one of static, balance, resource"):
        policy_named("best")
    with pytest.raises(ConfigurationError, match="policy 'best' is not known"):
        policy_for_spark("best")
    with pytest.raises(AttributeError, match="Best"):
        _ = policies.Best


@pytest.mark.parametrize("name", [n for n, entry in POLICIES.items() if not entry.on_spark])
def test_policies_that_are_not_connected_to_spark_are_refused_by_name_and_as_they_are(name: str) -> None:
    message = f"policy '{name}' is not connected to Spark yet, only static and balance are.*`rheostat simulate`"
    with pytest.raises(ConfigurationError, match=message):
        policy_for_spark(name)
    with pytest.raises(ConfigurationError, match=message):
        policy_for_spark(policy_named(name))


def test_policies_for_spark() -> None:
    assert policy_for_spark(None).name == policy_for_spark("static").name == "static"
    mine = Balance(threshold=1.5)
    assert policy_for_spark(mine) is mine


def test_anything_else_is_refused_before_the_query_starts() -> None:
    with pytest.raises(
        ConfigurationError, match=r"policy=1.2 is not a policy, it has no name, .*Balance\(\), or one of"
    ):
        policy_for_spark(1.2)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="is a class: pass a policy such as"):
        policy_for_spark(Balance)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="policy '' is not known"):
        policy_for_spark("")
    incomplete = SimpleNamespace(name="mine", on_spark=True, begin=len, learn=len, decide=len)
    with pytest.raises(ConfigurationError, match="it has no pause, waits, ahead: pass a policy"):
        policy_for_spark(incomplete)


def test_names_are_listed() -> None:
    assert {"Balance", "Elysium", "POLICIES"} <= set(dir(policies))
