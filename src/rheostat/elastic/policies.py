"""All policies by name: the module that defines each one, and the engines it runs on.

>>> from rheostat.elastic import policies
>>> policies.POLICIES["balance"].on_spark, policies.POLICIES["streamswitch"].on_spark
(True, False)
>>> policies.Balance(threshold=1.1).threshold
1.1

A policy is imported when it is first used, since many of them need packages of an extra.
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
"""The policies that every module defines. A test checks that they match the imports above."""

__getattr__, __dir__ = lazy_names(__name__, _HOMES)


@dataclass(frozen=True)
class RegisteredPolicy:
    """A policy that can be chosen by its name alone, because all its settings have defaults.

    Attributes:
        maker: the class, or a class and one of its constructors, such as ``Elasticutor.naive``.
        decides_by: what the policy decides, and by which model, in words.
        on_spark: True if it can control a running query on Spark. All policies run in the simulator.
    """

    maker: str
    decides_by: str
    on_spark: bool = False

    def make(self) -> Policy:
        """Return the policy with its default settings."""
        name, _, constructor = self.maker.partition(".")
        policy = __getattr__(name)
        make = cast("Callable[[], Policy]", getattr(policy, constructor) if constructor else policy)
        return make()


POLICIES: Mapping[str, RegisteredPolicy] = {
    "static": RegisteredPolicy("Static", "nothing: a fixed number of slots", on_spark=True),
    "balance": RegisteredPolicy("Balance", "a fixed number of slots, evenly loaded", on_spark=True),
    "resource-centric": RegisteredPolicy(
        "ResourceCentric", "Elasticutor's queueing model and balancing, with keys repartitioned over the whole operator"
    ),
    "elasticutor": RegisteredPolicy(
        "Elasticutor", "cores by a network of M/M/k queues, placed by Algorithm 1, shards balanced inside executors"
    ),
    "naive-ec": RegisteredPolicy("Elasticutor.naive", "as elasticutor, but ignores the cost of moved state and data"),
    "streamswitch": RegisteredPolicy("StreamSwitch", "a latency bound over a sliding window: Examine, Diagnose, Treat"),
    "drs": RegisteredPolicy("Drs", "M/M/k with a safety margin"),
    "drs-lb": RegisteredPolicy("DrsLb", "M/M/k with a safety margin, and StreamSwitch's balancing"),
}
"""The policies that ``start(policy=...)``, scenarios and the command line accept by name.

ELYSIUM's policies need profiles of the operators, so they can only be made in Python.
"""

_MEMBERS = ("name", "pause", "waits", "on_spark", "ahead", "begin", "learn", "decide")
"""What every policy has; see ``rheostat.elastic.model.policy.Policy``."""


def policy_named(name: str) -> Policy:
    """Return a policy by its name, with its default settings.

    >>> policy_named("static").name
    'static'
    """
    if name not in POLICIES:
        raise ConfigurationError(f"policy {name!r} is not known: choose one of {', '.join(POLICIES)}")
    return POLICIES[name].make()


def policy_for_spark(policy: Policy | str | None) -> Policy:
    """Return the policy of a query on Spark, given by name or as a policy. The default is ``static``.

    Raises:
        ConfigurationError: it is not a policy, or cannot control a query on Spark yet.

    >>> policy_for_spark(None).name, policy_for_spark("balance").name
    ('static', 'balance')
    >>> policy_for_spark("drs-lb")
    Traceback (most recent call last):
    ...
    rheostat.errors.ConfigurationError: policy 'drs-lb' is not connected to Spark yet, only static and balance are: try
    it on a simulated cluster with `rheostat simulate`
    """
    if policy is None or isinstance(policy, str):
        name = "static" if policy is None else policy
        if name in POLICIES and not POLICIES[name].on_spark:
            raise _not_connected(name)
        return policy_named(name)
    missing = [member for member in _MEMBERS if not hasattr(policy, member)]
    if missing or isinstance(policy, type):
        why = "a class" if isinstance(policy, type) else f"not a policy, it has no {', '.join(missing)}"
        raise ConfigurationError(
            f"policy={policy!r} is {why}: pass a policy such as rh.policies.Balance(), or one of {', '.join(POLICIES)}"
        )
    if not policy.on_spark:
        raise _not_connected(policy.name)
    return policy


def _not_connected(name: str) -> ConfigurationError:
    connected = " and ".join(n for n, entry in POLICIES.items() if entry.on_spark)
    return ConfigurationError(
        f"policy {name!r} is not connected to Spark yet, only {connected} are: "
        "try it on a simulated cluster with `rheostat simulate`"
    )
