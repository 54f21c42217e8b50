"""Enorm's planner: which operators run together, and who aggregates their rows. In reading order:

- ``fusion``: fuses operators that share attributes into components (section 4.4.1, Algorithm 1).
- ``fusion_cost``: what a fusion is worth on Spark, by measured rates and work (section 4.4).
- ``splitting``: split or combined, the rule that chooses one of them (section 5.1.2).
- ``form_watch``: the same while a query runs, by measured costs (section 5.1.1).

Every query is planned with them. What only the paper's evaluation needs, such as migration strategies and Flux, is in
``papers/enorm/testbed``. Public names are imported on first use.

>>> import rheostat as rh
>>> keys = {"rate": frozenset({"area", "user"}), "by_area": frozenset({"area"}), "by_user": frozenset({"user"})}
>>> [part.operators for part in rh.enorm.fuse(keys, [("rate", "by_area"), ("rate", "by_user")])]
[('rate', 'by_area'), ('by_user',)]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rheostat.lazy import lazy_names

if TYPE_CHECKING:
    from rheostat.planning.enorm.form_watch import FormWatch, IngestSample, observe
    from rheostat.planning.enorm.fusion import (
        FusedComponent,
        fuse,
        fuse_baseline,
        inter_component_traffic,
        score_by_attributes,
        score_by_component_rate,
        score_by_rate,
    )
    from rheostat.planning.enorm.fusion_cost import FusionFigures, score_by_cost
    from rheostat.planning.enorm.splitting import Form, cheaper_form

_HOMES = {
    "rheostat.planning.enorm.form_watch": "FormWatch IngestSample observe",
    "rheostat.planning.enorm.fusion": "FusedComponent fuse fuse_baseline inter_component_traffic "
    "score_by_attributes score_by_component_rate score_by_rate",
    "rheostat.planning.enorm.fusion_cost": "FusionFigures score_by_cost",
    "rheostat.planning.enorm.splitting": "Form cheaper_form",
}
"""Public names by the module that defines them. A test checks that they match the imports above."""

__all__ = [
    "Form",
    "FormWatch",
    "FusedComponent",
    "FusionFigures",
    "IngestSample",
    "cheaper_form",
    "fuse",
    "fuse_baseline",
    "inter_component_traffic",
    "observe",
    "score_by_attributes",
    "score_by_component_rate",
    "score_by_cost",
    "score_by_rate",
]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
