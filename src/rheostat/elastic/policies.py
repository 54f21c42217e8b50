"""Policies: who decides where operators run.

>>> sorted(POLICIES)
['drs', 'drs-lb', 'elasticutor', 'naive-ec', 'resource-centric', 'static', 'streamswitch']
"""

from collections.abc import Callable, Mapping

from rheostat.elastic.baselines.drs import Drs, DrsLb
from rheostat.elastic.baselines.resource_centric import ResourceCentric
from rheostat.elastic.baselines.static import Static
from rheostat.elastic.elasticutor.policy import Elasticutor
from rheostat.elastic.model.policy import Policy
from rheostat.elastic.streamswitch.streamswitch import StreamSwitch

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
