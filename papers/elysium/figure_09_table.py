"""ELYSIUM's Fig. 9 as one table: every row that the paper prints, with our figures beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from papers.elysium.figure_09_comparison import FIG_9, STAIR_ONLY, ComparisonRuns
from papers.elysium.figure_12_two_topologies import PRINTED_TOGETHER
from papers.elysium.figure_13_proactive import PRINTED
from papers.elysium.testbed.lab import Lab, Runs

HEADER = ("topology", "load", "scaling", "paper degradation", "paper saved %", "degradation", "saved %")
MORE = ("reconfigurations", "latency s", "left %")


@dataclass(frozen=True, eq=False)
class TableLine:
    """A row of the table.

    Attributes:
        topology: name of the topology, or of both.
        load: name of the load.
        scaling: name of the scaling strategy.
        paper: what the paper prints: throughput degradation and nodes saved in per cent; None if it has no such row.
        runs: our runs.
    """

    topology: str
    load: str
    scaling: str
    paper: tuple[float, int] | None
    runs: Runs

    def cells(self) -> tuple[object, ...]:
        """Return the cells of the row for the CSV file."""
        r = self.runs
        measured = (r.degradation, 100 * r.saved, r.reconfigurations, r.latency, 100 * r.unfinished)
        return (self.topology, self.load, self.scaling, *(self.paper or ("", "")), *(round(v, 3) for v in measured))


def summary(lab: Lab, compared: ComparisonRuns, proactive: Mapping[str, Runs], together: Mapping[str, Runs]) -> None:
    """Write the paper's rows in its order as ``fig09.csv``, and all other runs as ``fig09_ours.csv``.

    Args:
        lab: what all figures share.
        compared: reactive and static runs, by topology and load.
        proactive: proactive runs of T1, by load.
        together: runs of two topologies in one cluster, by case.
    """
    lines, others = [], []
    for (topology, load), printed in FIG_9.items():
        runs = compared[topology, load]
        if (topology, load) == ("T1", "stair"):
            lines += [TableLine(topology, load, name, paper, runs[name]) for name, paper in STAIR_ONLY.items()]
        lines.append(TableLine(topology, load, "joint", printed.joint, runs["joint"]))
        lines.append(TableLine(topology, load, "ELYSIUM, reactive", printed.elysium, runs["ELYSIUM"]))
        if topology == "T1" and load in PRINTED:
            lines.append(TableLine(topology, load, "ELYSIUM, proactive", PRINTED[load], proactive[load]))
    for case, (load, paper) in PRINTED_TOGETHER.items():
        lines.append(TableLine("T1 and T2", load, "ELYSIUM, reactive", paper, together[case]))
    for (topology, load), sides in compared.items():
        printed_here = {"joint", "ELYSIUM", *STAIR_ONLY} if (topology, load) in FIG_9 else set()
        others += [
            TableLine(topology, load, side, None, runs) for side, runs in sides.items() if side not in printed_here
        ]
    _write(lab, "fig09", lines)
    _write(lab, "fig09_ours", others)


def _write(lab: Lab, name: str, lines: Sequence[TableLine]) -> None:
    lab.run.table(name, (*HEADER, *MORE), [line.cells() for line in lines])
