"""A topology as ELYSIUM sees it: operators with bounds on their slots, and the streams between them (section 2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter

from rheostat.elastic.elysium.profiles.samples import INPUT, Stream
from rheostat.errors import ConfigurationError


@dataclass(frozen=True)
class ScalableOperator:
    """An operator that may have between ``least`` and ``most`` slots.

    Attributes:
        name: unique in its topology.
        most: maximum number of slots.
        least: minimum number of slots.

    >>> from rheostat.elastic.elysium import Estimator, Line, Profiles, compute_config
    >>> sums = Dataflow("t", (ScalableOperator("sum", least=2, most=4),), ())
    >>> estimator = Estimator({"t": Profiles(sums, {}, {"sum": Line(0.0, 1e6)})}, overhead=Line(0.0, 1.0))
    >>> [compute_config(estimator, {"t": load}).config.slots for load in (0.0, 4000.0, 1e6)]
    [2, 3, 4]
    """

    name: str
    most: int = 4
    least: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.least <= self.most:
            raise ConfigurationError(
                f"operator {self.name!r}: bounds of {self.least} to {self.most} slots must be in order and at least 1"
            )


@dataclass(frozen=True)
class Dataflow:
    """A directed acyclic graph of operators (section 2).

    Attributes:
        name: name of the topology.
        operators: operators, in the order in which an allocator assigns their slots.
        streams: (upstream, downstream) pairs of operator names, each at most once.
        order: operator names in topological order, every operator after those that send to it.

    >>> words = Dataflow("words", (ScalableOperator("split"), ScalableOperator("count")), (("split", "count"),))
    >>> words.sources, words.order
    (('split',), ('split', 'count'))
    """

    name: str
    operators: tuple[ScalableOperator, ...]
    streams: tuple[Stream, ...]
    order: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        names = [operator.name for operator in self.operators]
        if not names or len(set(names)) < len(names) or INPUT in names:
            raise ConfigurationError(f"topology {self.name!r} needs operators with unique, non-empty names: {names}")
        unknown = {name for stream in self.streams for name in stream} - set(names)
        if unknown or len(set(self.streams)) < len(self.streams):
            raise ConfigurationError(
                f"streams of topology {self.name!r} must be unique and connect its operators; unknown operators: "
                f"{sorted(unknown)}"
            )
        senders: dict[str, list[str]] = {name: [] for name in names}
        for upstream, downstream in self.streams:
            senders[downstream].append(upstream)
        try:
            order = tuple(TopologicalSorter(senders).static_order())
        except CycleError as error:
            raise ConfigurationError(f"streams of topology {self.name!r} form a cycle: {error.args[1]}") from error
        object.__setattr__(self, "order", order)

    @property
    def sources(self) -> tuple[str, ...]:
        """Names of the operators that receive no stream of the topology."""
        receivers = {downstream for _, downstream in self.streams}
        return tuple(operator.name for operator in self.operators if operator.name not in receivers)

    def rates(self, load: float, selectivity: Mapping[Stream, float]) -> dict[str, float]:
        """Return the rows per second into every operator.

        Args:
            load: rows per second into the topology.
            selectivity: rows sent per row received, by stream. Under ``(INPUT, source)`` the share of the load that a
                source receives; by default, all sources receive equal parts.

        >>> chain = Dataflow("t", (ScalableOperator("a"), ScalableOperator("b")), (("a", "b"),))
        >>> chain.rates(10.0, {("a", "b"): 2.5})
        {'a': 10.0, 'b': 25.0}
        """
        sources = self.sources
        rates = dict.fromkeys(self.order, 0.0)
        for source in sources:
            rates[source] = load * selectivity.get((INPUT, source), 1 / len(sources))
        for name in self.order:
            for upstream, downstream in self.streams:
                if upstream == name:
                    rates[downstream] += rates[name] * self._selectivity(selectivity, upstream, downstream)
        return rates

    def _selectivity(self, selectivity: Mapping[Stream, float], upstream: str, downstream: str) -> float:
        try:
            return selectivity[upstream, downstream]
        except KeyError as error:
            raise ConfigurationError(
                f"no selectivity of the stream from {upstream!r} to {downstream!r} of topology {self.name!r}: learn it "
                "from recorded traffic"
            ) from error
