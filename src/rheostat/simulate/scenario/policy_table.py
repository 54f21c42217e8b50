"""Policies by name, for scenarios."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rheostat.elastic.model.policy import Policy
from rheostat.elastic.policies import POLICIES
from rheostat.elastic.streamswitch.diagnosis import Limits
from rheostat.errors import ConfigurationError, TopologyError
from rheostat.simulate.scenario.toml_table import Kinds, checked, kinds_of

_WHERE = "[policy]"
_FIXED = frozenset({"name", "pause", "waits", "limits", "rules"})
"""What belongs to a policy and is no value of a file."""

_LEAST: Mapping[str, float] = {
    "locality": 0.0,
    "horizon": 0.0,
    "reshaping": 0.0,
    "threshold": 1.0,
    "even": 1.0,
    "steady": 1.0,
    "uneven": 1.0,
    "nearby": 1.0,
}
"""The least that makes sense; the other numbers of policies are above 0."""


def make_policy(given: Any) -> Policy:
    """A policy by its name, with values for its attributes, and for those of its limits.

    >>> make_policy({"name": "streamswitch", "margin": 0.1}).limits.margin
    0.1
    """
    name, values = _named(given)
    policy: Any = POLICIES[name].make()
    own, limits = _values_of(policy)
    found = checked(f"{_WHERE} {name}", values, {**limits, **own})
    for key in set(found) & set(own):
        _in_range(f"{_WHERE} {key}", key, found[key])
    bounded = {key: value for key, value in found.items() if key not in own}
    try:
        if bounded:
            policy = replace(policy, limits=replace(policy.limits, **bounded))
        made: Policy = replace(policy, **{key: value for key, value in found.items() if key in own})
    except (ConfigurationError, TopologyError) as error:
        raise ConfigurationError(f"{_WHERE} {error}") from error
    return made


def renamed(given: Any, name: str) -> tuple[dict[str, Any], str]:
    """The table of another policy, with the values that it knows too; and a note of those that it does not know.

    >>> renamed({"name": "elasticutor", "bound": 1.0, "overhead": 0.3}, "streamswitch")
    ({'name': 'streamswitch', 'bound': 1.0}, "streamswitch has no overhead: the file's 0.3 is left out")
    """
    make_policy(given)  # what the file's own policy refuses is refused in any case
    _, values = _named({**given, "name": name})
    own, limits = _values_of(POLICIES[name].make())
    kept = {key: value for key, value in values.items() if key in own or key in limits}
    lost = {key: value for key, value in values.items() if key not in kept}
    told = [f"{name} has no {key}: the file's {value} is left out" for key, value in lost.items()]
    return {"name": name, **kept}, "; ".join(told)


def _named(given: Any) -> tuple[str, dict[str, Any]]:
    if not isinstance(given, Mapping):
        raise ConfigurationError(
            f'policy = {given!r}: write a table, a line [policy] and below it name = "static" or another'
        )
    name, values = given.get("name"), {key: value for key, value in given.items() if key != "name"}
    if not isinstance(name, str) or name not in POLICIES:
        raise ConfigurationError(
            f"{_WHERE} name: policy {name!r} is not known, choose one of {', '.join(sorted(POLICIES))}"
        )
    return name, values


def _values_of(policy: Any) -> tuple[Kinds, Kinds]:
    """What a file may say of a policy, and of its limits if it has any."""
    return kinds_of(policy, _FIXED), kinds_of(Limits) if hasattr(policy, "limits") else {}


def _in_range(where: str, key: str, value: Any) -> None:
    """Refuse numbers that make no sense, alone or in a table."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            _in_range(f"{where}.{name}", key, item)
    elif isinstance(value, float):
        least = _LEAST.get(key)
        fine = value >= least if least is not None else 0 < value < math.inf
        if not fine:
            wanted = f"{least:g} or more" if least is not None else "a finite number above 0"
            raise ConfigurationError(f"{where} = {value:g}: write {wanted}")
