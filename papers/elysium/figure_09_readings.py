"""How much the comparison with joint scaling depends on details that ELYSIUM's paper leaves open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

from papers.elysium.testbed.assessments import ScalingSetting
from papers.elysium.testbed.cluster import ClusterBehaviour
from papers.elysium.testbed.lab import Lab, Runs
from rheostat.elastic.elysium.configuration import Thresholds


def joint_readings(lab: Lab, elysium: Mapping[str, Runs]) -> tuple[str, str]:
    """Compare ELYSIUM with six readings of joint scaling on the loads of T1.

    Args:
        lab: what all figures share.
        elysium: runs of ELYSIUM, by load.

    Returns:
        Two texts. Each gives for every reading the number of loads on which ELYSIUM is ahead: where it saves at least
        as many nodes, and where it degrades throughput less.
    """
    saves, less = [], []
    rows = []
    for at_once, cpu_min in lab.run.each("readings of joint scaling", list(product((False, True), (0.25, 0.5, 0.7)))):
        policy = lab.joint("T1", Thresholds(cpu_min=cpu_min), at_once)
        ahead = {"saved": 0, "less": 0}
        for name, ours in elysium.items():
            joint = lab.runs("T1", lab.curves[name], policy)
            ahead["saved"] += ours.saved >= joint.saved
            ahead["less"] += ours.degradation < joint.degradation
            rows.append((at_once, cpu_min, name, round(joint.degradation, 3), round(joint.saved, 3)))
        reading = f"{cpu_min}, {'each' if at_once else 'one'}"
        saves.append(f"{ahead['saved']} ({reading})")
        less.append(f"{ahead['less']} ({reading})")
    lab.run.table("joint_readings", ("at once", "cpu_min", "curve", "degradation", "nodes saved"), rows)
    return ", ".join(saves), ", ".join(less)


def restart_times(lab: Lab, names: Sequence[str]) -> str:
    """Return, as a text, on how many loads of T1 ELYSIUM degrades throughput less, for other lengths of restarts."""
    counts, rows = [], []
    for settle in lab.run.each("times of restarts", (0.0, 8.0, 30.0)):
        setting = ScalingSetting(ClusterBehaviour(settle=settle))
        ahead = {False: 0, True: 0}
        for name in names:
            curve = lab.curves[name]
            ours = lab.runs("T1", curve, lab.elysium(), setting=setting)
            for at_once in ahead:
                joint = lab.runs("T1", curve, lab.joint("T1", at_once=at_once), setting=setting)
                ahead[at_once] += ours.degradation < joint.degradation
                rows.append((settle, at_once, name, round(ours.degradation, 3), round(joint.degradation, 3)))
        counts.append(f"{ahead[False]} and {ahead[True]} ({settle:g} s)")
    lab.run.table("restarts", ("settle", "at once", "curve", "ELYSIUM", "joint"), rows)
    return ", ".join(counts)
