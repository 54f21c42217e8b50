"""All policies by name: the module that defines each one, and the engines it runs on.

>>> from rheostat.elastic import policies
>>> policies.POLICIES["streamswitch"].decides_by
'a latency bound over a sliding window: Examine, Diagnose, Treat'
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
    from rheostat.elastic.elysium.live.live_elysium import LiveElysium
    from rheostat.elastic.elysium.live.live_joint import LiveJointScaling
    from rheostat.elastic.model.policy import Elastic, Policy
    from rheostat.elastic.model.promise import Latency
    from rheostat.elastic.streamswitch.streamswitch import StreamSwitch

__all__ = [
    "POLICIES",
    "Balance",
    "Drs",
    "DrsLb",
    "Elasticutor",
    "Elysium",
    "JointScaling",
    "LiveElysium",
    "LiveJointScaling",
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
    "rheostat.elastic.elysium.live.live_elysium": "LiveElysium",
    "rheostat.elastic.elysium.live.live_joint": "LiveJointScaling",
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
    """

    maker: str
    decides_by: str

    def make(self) -> Policy:
        """Return the policy with its default settings."""
        name, _, constructor = self.maker.partition(".")
        policy = __getattr__(name)
        make = cast("Callable[[], Policy]", getattr(policy, constructor) if constructor else policy)
        return make()


POLICIES: Mapping[str, RegisteredPolicy] = {
    "static": RegisteredPolicy("Static", "nothing: a fixed number of slots"),
    "balance": RegisteredPolicy("Balance", "a fixed number of slots, evenly loaded"),
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
    "elysium": RegisteredPolicy("LiveElysium", "profiles learned from epochs: slots for the last load, then nodes"),
    "elysium-proactive": RegisteredPolicy("LiveElysium.forecasting", "as elysium, for the load that is forecast"),
    "joint-scaling": RegisteredPolicy("LiveJointScaling", "the use of slots: one slot and one node at a time"),
}
"""The policies that ``start(policy=...)``, scenarios and the command line accept by name.

``Elysium`` and ``JointScaling``, as the paper has them for several topologies, need dataflows and profiles and can only
be made in Python.
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


def policy_for_spark(
    policy: Policy | str | None, promise: Latency | None = None, slots: tuple[int, int] | None = None
) -> Policy:
    """Return the policy of a query on Spark, given by name or as a policy.

    The default is ``static``, and with a promise ``streamswitch``.

    Args:
        policy: the policy.
        promise: the latency that the query promises; it becomes the bound of a policy that has one.
        slots: fewest and most slots of an operator, for a policy that changes their number.

    Raises:
        ConfigurationError: it is not a policy, cannot control a query on Spark, or does not change the number of slots.

    >>> from rheostat.elastic.model.promise import Latency
    >>> policy_for_spark(None).name, policy_for_spark(None, Latency("1 second")).name
    ('static', 'streamswitch')
    >>> policy_for_spark("balance", slots=(1, 8))
    Traceback (most recent call last):
    ...
    rheostat.errors.ConfigurationError: policy 'balance' does not change the number of slots: pass one number, as in
    slots=8, or a policy such as streamswitch
    """
    if policy is None:
        policy = "static" if promise is None else "streamswitch"
    chosen = policy_named(policy) if isinstance(policy, str) else _checked(policy)
    if not chosen.on_spark:
        raise ConfigurationError(
            f"policy {chosen.name!r} cannot control a query on Spark yet: "
            "try it on a simulated cluster with `rheostat simulate`"
        )
    if hasattr(chosen, "keeping"):
        return cast("Elastic", chosen).keeping(promise, slots)
    if slots is not None and slots[0] != slots[1]:
        raise ConfigurationError(
            f"policy {chosen.name!r} does not change the number of slots: "
            f"pass one number, as in slots={slots[1]}, or a policy such as streamswitch"
        )
    return chosen


def _checked(policy: Policy) -> Policy:
    missing = [member for member in _MEMBERS if not hasattr(policy, member)]
    if missing or isinstance(policy, type):
        why = "a class" if isinstance(policy, type) else f"not a policy, it has no {', '.join(missing)}"
        raise ConfigurationError(
            f"policy={policy!r} is {why}: pass a policy such as rh.policies.Balance(), or one of {', '.join(POLICIES)}"
        )
    return policy
