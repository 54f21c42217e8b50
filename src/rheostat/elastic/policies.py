"""All policies by name: where each of them is, and where it runs.

>>> from rheostat.elastic import policies
>>> policies.POLICIES["balance"].on_spark, policies.POLICIES["streamswitch"].on_spark
(True, False)
>>> policies.Balance(threshold=1.1).threshold
1.1

A policy is loaded when it is first used: many of them need packages of an extra.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from rheostat.errors import ConfigurationError
from rheostat.lazy import lazy_names

if TYPE_CHECKING:
    from rheostat.elastic.baselines.drs import Drs, DrsLb
    from rheostat.elastic.baselines.plain_balance import Balance
    from rheostat.elastic.baselines.resource_centric import ResourceCentric
    from rheostat.elastic.baselines.static import Static
    from rheostat.elastic.elasticutor.elasticutor import Elasticutor
    from rheostat.elastic.elysium.elysium import Elysium, OnlyNodes, OnlyOperators
    from rheostat.elastic.elysium.joint_scaling import JointScaling
    from rheostat.elastic.model.policy import Policy
    from rheostat.elastic.streamswitch.streamswitch import StreamSwitch

__all__ = [
    "POLICIES",
    "Balance",
    "Drs",
    "DrsLb",
    "Elasticutor",
    "Elysium",
    "JointScaling",
    "OnlyNodes",
    "OnlyOperators",
    "ResourceCentric",
    "Static",
    "StreamSwitch",
    "policy_for_spark",
    "policy_named",
]

_HOMES = {
    "rheostat.elastic.baselines.drs": "Drs DrsLb",
    "rheostat.elastic.baselines.plain_balance": "Balance",
    "rheostat.elastic.baselines.resource_centric": "ResourceCentric",
    "rheostat.elastic.baselines.static": "Static",
    "rheostat.elastic.elasticutor.elasticutor": "Elasticutor",
    "rheostat.elastic.elysium.elysium": "Elysium OnlyNodes OnlyOperators",
    "rheostat.elastic.elysium.joint_scaling": "JointScaling",
    "rheostat.elastic.streamswitch.streamswitch": "StreamSwitch",
}
"""Policies by the module that defines them; the same as the imports above, which a test checks."""

__getattr__, __dir__ = lazy_names(__name__, _HOMES)


@dataclass(frozen=True)
class RegisteredPolicy:
    """A policy that a name is enough for: everything else about it has a default.

    Attributes:
        maker: its class, or a class and one of its constructors, as ``Elasticutor.naive``.
        decides_by: what it decides by, in words.
        on_spark: True if it can decide for a running query on Spark; all of them run in the simulator.
    """

    maker: str
    decides_by: str
    on_spark: bool = False

    def make(self) -> Policy:
        """The policy with its defaults."""
        name, _, constructor = self.maker.partition(".")
        found = __getattr__(name)
        make = cast("Callable[[], Policy]", getattr(found, constructor) if constructor else found)
        return make()


POLICIES: Mapping[str, RegisteredPolicy] = {
    "static": RegisteredPolicy("Static", "nothing: a fixed number of slots", on_spark=True),
    "balance": RegisteredPolicy("Balance", "a fixed number of slots, evenly loaded", on_spark=True),
    "resource-centric": RegisteredPolicy(
        "ResourceCentric", "the queueing model and balancing of Elasticutor, with keys repartitioned over the operator"
    ),
    "elasticutor": RegisteredPolicy(
        "Elasticutor", "cores by a network of M/M/k queues, placed by Algorithm 1, shards balanced inside executors"
    ),
    "naive-ec": RegisteredPolicy("Elasticutor.naive", "the same, without regard to state that moves and data sent"),
    "streamswitch": RegisteredPolicy("StreamSwitch", "a latency bound over a sliding window: Examine, Diagnose, Treat"),
    "drs": RegisteredPolicy("Drs", "M/M/k with a safety margin"),
    "drs-lb": RegisteredPolicy("DrsLb", "M/M/k with a safety margin, and StreamSwitch's balancing"),
}
"""The policies that ``start(policy=...)``, scenarios and the command line know by name.

ELYSIUM's need profiles of a topology's operators, so they are made from Python only.
"""


def policy_named(name: str) -> Policy:
    """A policy by its name, with its defaults.

    >>> policy_named("static").name
    'static'
    """
    if name not in POLICIES:
        raise ConfigurationError(f"policy {name!r} is not known: choose one of {', '.join(POLICIES)}")
    return POLICIES[name].make()


def policy_for_spark(policy: Policy | str | None) -> Policy:
    """A policy that decides for a query on Spark, given as it is or by its name; others are refused.

    >>> policy_for_spark(None).name, policy_for_spark("balance").name
    ('static', 'balance')
    >>> policy_for_spark("drs-lb")
    Traceback (most recent call last):
    ...
    rheostat.errors.ConfigurationError: policy 'drs-lb' is not connected to Spark yet, only static and balance are: try
    it on a simulated cluster with `rheostat simulate`
    """
    if policy is None or isinstance(policy, str):
        name = policy or "static"
        if name in POLICIES and not POLICIES[name].on_spark:
            raise _not_connected(name)
        return policy_named(name)
    if not all(callable(getattr(policy, method, None)) for method in ("begin", "learn", "decide")):
        raise ConfigurationError(
            f"policy={policy!r} is not a policy: pass one, as rh.policies.Balance(), or one of {', '.join(POLICIES)}"
        )
    if not policy.on_spark:
        raise _not_connected(policy.name)
    return policy


def _not_connected(name: str) -> ConfigurationError:
    able = " and ".join(n for n, entry in POLICIES.items() if entry.on_spark)
    return ConfigurationError(
        f"policy {name!r} is not connected to Spark yet, only {able} are: "
        "try it on a simulated cluster with `rheostat simulate`"
    )
