"""The topology as ELYSIUM sees it: operators with bounds on their parallelism, and the streams between them."""

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
        most: slots at most.
        least: slots at least.
    """

    name: str
    most: int = 4
    least: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.least <= self.most:
            raise ConfigurationError(
                f"operator {self.name!r} may have {self.least} to {self.most} slots: the bounds must be in order and "
                "at least 1"
            )


@dataclass(frozen=True)
class Dataflow:
    """A directed acyclic graph of operators (section 2).

    Attributes:
        operators: in the order in which slots are allocated.
        streams: pairs of names, at most one stream for each pair.
        order: names with every operator behind all that feed it.

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
            raise ConfigurationError(f"topology {self.name!r} needs operators, each with a name of its own: {names}")
        unknown = {name for stream in self.streams for name in stream} - set(names)
        if unknown or len(set(self.streams)) < len(self.streams):
            raise ConfigurationError(
                f"the streams of topology {self.name!r} must differ and join its operators; unknown: {sorted(unknown)}"
            )
        before: dict[str, list[str]] = {name: [] for name in names}
        for upstream, downstream in self.streams:
            before[downstream].append(upstream)
        try:
            order = tuple(TopologicalSorter(before).static_order())
        except CycleError as error:
            raise ConfigurationError(f"the streams of topology {self.name!r} form a circle: {error.args[1]}") from error
        object.__setattr__(self, "order", order)

    @property
    def sources(self) -> tuple[str, ...]:
        """Operators that no stream of the topology feeds."""
        fed = {downstream for _, downstream in self.streams}
        return tuple(operator.name for operator in self.operators if operator.name not in fed)

    def rates(self, load: float, selectivity: Mapping[Stream, float]) -> dict[str, float]:
        """Rows per second into every operator, for an input load of the whole topology.

        Several sources share the load equally unless ``selectivity`` has their shares, under ``(INPUT, source)``.

        >>> chain = Dataflow("t", (ScalableOperator("a"), ScalableOperator("b")), (("a", "b"),))
        >>> chain.rates(10.0, {("a", "b"): 2.5})
        {'a': 10.0, 'b': 25.0}
        """
        sources = self.sources
        found = dict.fromkeys(self.order, 0.0)
        for source in sources:
            found[source] = load * selectivity.get((INPUT, source), 1 / len(sources))
        for name in self.order:
            for upstream, downstream in self.streams:
                if upstream == name:
                    found[downstream] += found[name] * self._selectivity(selectivity, upstream, downstream)
        return found

    def _selectivity(self, known: Mapping[Stream, float], upstream: str, downstream: str) -> float:
        try:
            return known[upstream, downstream]
        except KeyError as error:
            raise ConfigurationError(
                f"the selectivity of the stream from {upstream!r} to {downstream!r} of topology {self.name!r} is not "
                "known: record its traffic first"
            ) from error
