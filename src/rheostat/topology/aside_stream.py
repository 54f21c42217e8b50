"""The handle of the rows that a source kept aside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rheostat.topology.nodes import SinkNode
from rheostat.topology.sinks import Sink, check_sink

if TYPE_CHECKING:
    from rheostat.topology.graph import Graph


@dataclass(frozen=True)
class AsideStream:
    """The rows that a source kept aside, with a column ``reason`` (``late`` or ``null``); see ``Stream.aside``.

    Attributes:
        graph: the topology it belongs to.
        source: the name of the source.
    """

    graph: Graph
    source: str

    def sink(self, sink: Sink) -> AsideStream:
        """Send the rows that were kept aside to a sink.

        >>> source = rh.Topology("lending").source(loans, event_time="ts", late="aside")
        >>> late = source.aside.sink(rh.sinks.memory())
        """
        check_sink(f"{self.source} aside", sink)
        self.graph.sinks.append(SinkNode(self.source, sink, aside=True))
        return self
