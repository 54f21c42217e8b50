"""ELYSIUM: scales operators and nodes independently, by estimates of the resources that a configuration needs.

The files, in reading order:

=================  ===================================================================================================
``elysium``        the policy, and variants that scale only operators or only nodes (sections 3.2 and 5.2)
``load_history``   what the policy remembers: input loads, and the CPU used by slots and nodes
``plans``          converts configurations to plans and back
``configuration``  configurations, thresholds and node types (sections 2 and 5.1)
``config_search``  Algorithm 1: chooses the slots of operators, then the nodes (section 3.2)
``estimator``      estimates the resources that a configuration uses at an input load (section 3.2)
``dataflow``       operators and the streams between them (section 2)
``allocator``      assigns slots to nodes (sections 4 and 7)
``thresholds``     learns thresholds by trying them (section 5.1)
``profiles``       resource use as a function of the input rate, learned from recorded metrics
``forecasts``      forecasts the input load of the next minutes
``joint_scaling``  the baseline: one slot and one node at a time (section 5.2)
``live``           both policies for a running query, in an engine with epochs
=================  ===================================================================================================

Public names are loaded on first use; most need packages of the extra ``elysium``.

>>> import rheostat as rh
>>> rh.elysium.Thresholds().core_max
0.65
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rheostat.lazy import lazy_names

if TYPE_CHECKING:
    from rheostat.elastic.elysium.allocator import BalancedAllocator, RoundRobinAllocator
    from rheostat.elastic.elysium.config_search import Bounds, compute_config
    from rheostat.elastic.elysium.configuration import Config, NodeType, Thresholds
    from rheostat.elastic.elysium.dataflow import Dataflow, ScalableOperator
    from rheostat.elastic.elysium.elysium import Elysium, OnlyNodes, OnlyOperators
    from rheostat.elastic.elysium.estimator import Estimator, Profiles
    from rheostat.elastic.elysium.forecasts.backtest import backtest, choose
    from rheostat.elastic.elysium.forecasts.boosted_trees import BoostedTrees
    from rheostat.elastic.elysium.forecasts.paper_network import PaperNetwork
    from rheostat.elastic.elysium.forecasts.seasonal import Seasonal
    from rheostat.elastic.elysium.forecasts.series import Series
    from rheostat.elastic.elysium.joint_scaling import JointScaling
    from rheostat.elastic.elysium.profiles.profile import LearnedProfile, Line, learned
    from rheostat.elastic.elysium.profiles.selectivity import Selectivity, selectivities
    from rheostat.elastic.elysium.thresholds import LearnedThreshold, QLearning, learn

_HOMES = {
    "rheostat.elastic.elysium.allocator": "BalancedAllocator RoundRobinAllocator",
    "rheostat.elastic.elysium.config_search": "Bounds compute_config",
    "rheostat.elastic.elysium.configuration": "Config NodeType Thresholds",
    "rheostat.elastic.elysium.dataflow": "Dataflow ScalableOperator",
    "rheostat.elastic.elysium.elysium": "Elysium OnlyNodes OnlyOperators",
    "rheostat.elastic.elysium.estimator": "Estimator Profiles",
    "rheostat.elastic.elysium.forecasts.backtest": "backtest choose",
    "rheostat.elastic.elysium.forecasts.boosted_trees": "BoostedTrees",
    "rheostat.elastic.elysium.forecasts.paper_network": "PaperNetwork",
    "rheostat.elastic.elysium.forecasts.seasonal": "Seasonal",
    "rheostat.elastic.elysium.forecasts.series": "Series",
    "rheostat.elastic.elysium.joint_scaling": "JointScaling",
    "rheostat.elastic.elysium.profiles.profile": "LearnedProfile Line learned",
    "rheostat.elastic.elysium.profiles.selectivity": "Selectivity selectivities",
    "rheostat.elastic.elysium.thresholds": "LearnedThreshold QLearning learn",
}
"""Public names by the module that defines them. A test checks that they match the imports above."""

__all__ = [
    "BalancedAllocator",
    "BoostedTrees",
    "Bounds",
    "Config",
    "Dataflow",
    "Elysium",
    "Estimator",
    "JointScaling",
    "LearnedProfile",
    "LearnedThreshold",
    "Line",
    "NodeType",
    "OnlyNodes",
    "OnlyOperators",
    "PaperNetwork",
    "Profiles",
    "QLearning",
    "RoundRobinAllocator",
    "ScalableOperator",
    "Seasonal",
    "Selectivity",
    "Series",
    "Thresholds",
    "backtest",
    "choose",
    "compute_config",
    "learn",
    "learned",
    "selectivities",
]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
