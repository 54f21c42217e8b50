"""The table ``[policy]`` of a scenario: a policy by name, with values for its parameters."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rheostat.elastic.model.policy import Policy
from rheostat.elastic.policies import POLICIES
from rheostat.elastic.streamswitch.diagnosis import Limits
from rheostat.errors import ConfigurationError, TopologyError
from rheostat.simulate.scenario.toml_table import Types, check_table, field_types

_WHERE = "[policy]"
_FIXED = frozenset({"name", "pause", "waits", "limits", "rules"})
"""Fields of policies that a file cannot set."""

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
"""The least value of these parameters; all other numbers must be finite and above 0."""


def make_policy(table: Any) -> Policy:
    """Return the policy that a table names, with the table's values for its parameters and for its limits.

    >>> make_policy({"name": "streamswitch", "margin": 0.1}).limits.margin
    0.1
    """
    name, values = _split(table)
    policy: Any = POLICIES[name].make()
    own, limits = _parameters(policy)
    values = check_table(f"{_WHERE} {name}", values, {**limits, **own})
    own_values = {key: value for key, value in values.items() if key in own}
    limit_values = {key: value for key, value in values.items() if key not in own}
    for key, value in own_values.items():
        _check_range(f"{_WHERE} {key}", key, value)
    try:
        if limit_values:
            policy = replace(policy, limits=replace(policy.limits, **limit_values))
        made: Policy = replace(policy, **own_values)
    except (ConfigurationError, TopologyError) as error:
        raise ConfigurationError(f"{_WHERE} {error}") from error
    return made


def switch_policy(table: Any, name: str) -> tuple[dict[str, Any], str]:
    """Return the table for another policy, with the values that it knows too, and a note about the values left out.

    >>> switch_policy({"name": "elasticutor", "bound": 1.0, "overhead": 0.3}, "streamswitch")
    ({'name': 'streamswitch', 'bound': 1.0}, "streamswitch has no overhead: the file's 0.3 is left out")
    """
    make_policy(table)  # an error in the file is an error even if its policy is not used
    _, values = _split({**table, "name": name})
    own, limits = _parameters(POLICIES[name].make())
    kept = {key: value for key, value in values.items() if key in own or key in limits}
    left_out = {key: value for key, value in values.items() if key not in kept}
    notes = [f"{name} has no {key}: the file's {value} is left out" for key, value in left_out.items()]
    return {"name": name, **kept}, "; ".join(notes)


def _split(table: Any) -> tuple[str, dict[str, Any]]:
    """Return the name of the policy and the other values of a table."""
    if not isinstance(table, Mapping):
        raise ConfigurationError(
            f'policy = {table!r}: write a table, a line [policy] and below it a line such as name = "static"'
        )
    name, values = table.get("name"), {key: value for key, value in table.items() if key != "name"}
    if not isinstance(name, str) or name not in POLICIES:
        raise ConfigurationError(f"{_WHERE} name: unknown policy {name!r}, choose one of {', '.join(sorted(POLICIES))}")
    return name, values


def _parameters(policy: Any) -> tuple[Types, Types]:
    """Return the parameters of a policy and those of its limits, if it has limits, with their types."""
    return field_types(policy, _FIXED), field_types(Limits) if hasattr(policy, "limits") else {}


def _check_range(where: str, key: str, value: Any) -> None:
    """Raise ``ConfigurationError`` for a number out of range, or for a mapping that contains one."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            _check_range(f"{where}.{name}", key, item)
    elif isinstance(value, float):
        least = _LEAST.get(key)
        in_range = value >= least if least is not None else 0 < value < math.inf
        if not in_range:
            expected = f"{least:g} or more" if least is not None else "a finite number above 0"
            raise ConfigurationError(f"{where} = {value:g}: write {expected}")
