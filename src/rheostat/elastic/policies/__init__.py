"""Policies: who decides where operators run.

>>> sorted(POLICIES)
['drs', 'drs-lb', 'elasticutor', 'naive-ec', 'resource-centric', 'static', 'streamswitch']
"""

from collections.abc import Callable, Mapping

from rheostat.elastic.policies.elasticutor import Elasticutor
from rheostat.elastic.policies.resource_centric import ResourceCentric
from rheostat.elastic.policies.static import Static
from rheostat.elastic.policies.streamswitch import Drs, DrsLb, StreamSwitch
from rheostat.elastic.policy import Policy

POLICIES: Mapping[str, Callable[[], Policy]] = {
    "static": Static,
    "resource-centric": ResourceCentric,
    "elasticutor": Elasticutor,
    "naive-ec": Elasticutor.naive,
    "streamswitch": StreamSwitch,
    "drs": Drs,
    "drs-lb": DrsLb,
}

__all__ = ["POLICIES", "Drs", "DrsLb", "Elasticutor", "ResourceCentric", "Static", "StreamSwitch"]
