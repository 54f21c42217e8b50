"""Policies by name: the registry tells the truth, and loads nothing that was not asked for."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from rheostat.elastic import policies
from rheostat.elastic.baselines.plain_balance import Balance
from rheostat.elastic.model.promise import Latency
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
    assert ("runs in the testbed of" in words) != found.on_spark


@pytest.mark.parametrize("name", list(POLICIES))
def test_all_policies_with_a_name_run_on_spark(name: str) -> None:
    assert policy_named(name).name == policy_for_spark(name).name == name


def test_unknown_names_are_refused_with_those_that_there_are() -> None:
    with pytest.raises(ConfigurationError, match="policy 'best' is not known: choose one of static, balance, resource"):
        policy_named("best")
    with pytest.raises(ConfigurationError, match="policy 'best' is not known"):
        policy_for_spark("best")
    with pytest.raises(AttributeError, match="Best"):
        _ = policies.Best


def test_policies_that_cannot_control_spark_are_refused() -> None:
    nodes = SimpleNamespace(
        name="nodes", on_spark=False, ahead=False, pause=None, waits=None, begin=len, learn=len, decide=len
    )
    with pytest.raises(ConfigurationError, match="policy 'nodes' cannot control a query on Spark yet.*simulate"):
        policy_for_spark(nodes)


@pytest.mark.parametrize("name", ["streamswitch", "drs", "drs-lb", "elasticutor", "naive-ec", "resource-centric"])
def test_a_promise_and_a_range_of_slots_reach_the_policies_that_scale(name: str) -> None:
    policy: Any = policy_for_spark(name, Latency("3 seconds", over="7 seconds"), (2, 5))
    limits = getattr(policy, "limits", None)
    if limits is not None:
        assert (limits.bound, limits.min_slots, limits.max_slots, policy.window) == (3.0, 2, 5, 7.0)
    else:
        assert (policy.bound, policy.fewest, policy.most) == (3.0, 2, 5)


@pytest.mark.parametrize("name", ["static", "balance"])
def test_policies_that_do_not_scale_accept_a_promise_but_no_range(name: str) -> None:
    assert policy_for_spark(name, Latency("1 second"), (4, 4)).name == name
    with pytest.raises(ConfigurationError, match=rf"policy '{name}' does not change the number of slots.*slots=8"):
        policy_for_spark(name, None, (1, 8))


def test_policies_for_spark() -> None:
    assert policy_for_spark(None).name == policy_for_spark("static").name == "static"
    assert policy_for_spark(None, Latency("1 second")).name == "streamswitch"
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
