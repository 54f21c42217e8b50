"""Enorm's planner: which operators run together, on which nodes, and how they move. In reading order:

- ``attributes``: operators, their kinds and the attributes that partition them (section 4.3).
- ``fusion``: fuses operators that share attributes into components (section 4.4.1, Algorithm 1).
- ``components``: the traits of a component, and how it may be moved (sections 4.4 and 5).
- ``deployment``: the components and the nodes of their shards (sections 4.4 and 4.5).
- ``operations``: changes of a deployment: migrate, repartition, split, combine, scale out (sections 4.5 and 5.1).
- ``migration``: the cost of moving a shard: instant, smooth or disruptive (sections 4.5 and 5).
- ``splitting``: whether a component should be split or combined (sections 5.1.1 and 5.1.2).
- ``flux``: load balancing by periodic moves between pairs of nodes (section 3.2, after Shah et al.).
- ``instances``: fuses only the instances that exchange many rows (section 8).
- ``refusion``: adapts the components when the traffic changes (section 8).

Every query is planned with ``fuse``. The rest is not connected to queries yet; ``rheostat reproduce enorm`` runs the
paper's evaluation on it. Public names are imported on first use.

>>> import rheostat as rh
>>> keys = {"rate": frozenset({"area", "user"}), "by_area": frozenset({"area"}), "by_user": frozenset({"user"})}
>>> [part.operators for part in rh.enorm.fuse(keys, [("rate", "by_area"), ("rate", "by_user")])]
[('rate', 'by_area'), ('by_user',)]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rheostat.lazy import lazy_names

if TYPE_CHECKING:
    from rheostat.planning.enorm.attributes import Kind, PartitionedOperator, cardinality, joint_cardinality
    from rheostat.planning.enorm.components import OperatorGraph, strategies, traits
    from rheostat.planning.enorm.deployment import Deployment, deploy
    from rheostat.planning.enorm.flux import Flux
    from rheostat.planning.enorm.fusion import (
        FusedComponent,
        fuse,
        fuse_baseline,
        inter_component_traffic,
        score_by_attributes,
        score_by_component_rate,
        score_by_rate,
    )
    from rheostat.planning.enorm.instances import fuse_instances
    from rheostat.planning.enorm.migration import KeyCosts, ShardState, Strategy, choose_strategy, migration_cost
    from rheostat.planning.enorm.operations import Migrate, RePartition, apply, combine, scale_out, split
    from rheostat.planning.enorm.refusion import Patience, Watch, moved_operators, observe, refine
    from rheostat.planning.enorm.splitting import ComponentLoad, Form, best_change, choose_form, form_cost

_HOMES = {
    "rheostat.planning.enorm.attributes": "Kind PartitionedOperator cardinality joint_cardinality",
    "rheostat.planning.enorm.components": "OperatorGraph strategies traits",
    "rheostat.planning.enorm.deployment": "Deployment deploy",
    "rheostat.planning.enorm.flux": "Flux",
    "rheostat.planning.enorm.fusion": "FusedComponent fuse fuse_baseline inter_component_traffic "
    "score_by_attributes score_by_component_rate score_by_rate",
    "rheostat.planning.enorm.instances": "fuse_instances",
    "rheostat.planning.enorm.migration": "KeyCosts ShardState Strategy choose_strategy migration_cost",
    "rheostat.planning.enorm.operations": "Migrate RePartition apply combine scale_out split",
    "rheostat.planning.enorm.refusion": "Patience Watch moved_operators observe refine",
    "rheostat.planning.enorm.splitting": "ComponentLoad Form best_change choose_form form_cost",
}
"""Public names by the module that defines them. A test checks that they match the imports above."""

__all__ = [
    "ComponentLoad",
    "Deployment",
    "Flux",
    "Form",
    "FusedComponent",
    "KeyCosts",
    "Kind",
    "Migrate",
    "OperatorGraph",
    "PartitionedOperator",
    "Patience",
    "RePartition",
    "ShardState",
    "Strategy",
    "Watch",
    "apply",
    "best_change",
    "cardinality",
    "choose_form",
    "choose_strategy",
    "combine",
    "deploy",
    "form_cost",
    "fuse",
    "fuse_baseline",
    "fuse_instances",
    "inter_component_traffic",
    "joint_cardinality",
    "migration_cost",
    "moved_operators",
    "observe",
    "refine",
    "scale_out",
    "score_by_attributes",
    "score_by_component_rate",
    "score_by_rate",
    "split",
    "strategies",
    "traits",
]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
